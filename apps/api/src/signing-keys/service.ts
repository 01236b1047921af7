import { SESSION_TTL_MAX_SECONDS } from '@quartermaster/contracts/gateways.ts';
import { DuplicateKeyError } from '@quartermaster/db/errors.ts';
import { newId } from '@quartermaster/db/ids.ts';
import {
  findNewestSigningKey,
  findSealedKey,
  insertSigningKey,
  listPublishedKeys,
  type NewSigningKey,
  type PublicJwk,
  retireSigningKeys,
  type SigningKey,
} from '@quartermaster/db/repositories/signing-keys.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { type SecretBox, SecretUnreadableError } from '../crypto/secret-box.ts';
import type { Services } from '../services.ts';

/** How long a key signs. */
const ROTATION_DAYS = 90;

export const SIGNING_ALGORITHM = 'ES256';

/** A private key, ready to sign. */
export type Signer = { kid: string; key: CryptoKey };

export type KeyServices = Pick<Services, 'db' | 'now' | 'secrets'>;

const ROTATION_MS = ROTATION_DAYS * 24 * 3600 * 1000;

/** A token signed at the last moment before a rotation ends this much later; so long its key is published. */
const OVERLAP_MS = SESSION_TTL_MAX_SECONDS * 1000;

/** The key that signs now, made or rotated where it is due. Within a transaction a rotation becomes part of it. */
export async function currentSigner(services: KeyServices): Promise<Signer> {
  return signerOf(services, await currentKey(services));
}

/**
 * The public keys that verify session tokens (RFC 7517), newest first: there always is one. A rotation that is due is left
 * to the next session, so that what strangers may call only reads.
 */
export async function jwks(services: KeyServices): Promise<{ keys: PublicJwk[] }> {
  const keys = await listPublishedKeys(services.db, services.now());
  if (keys.length > 0) return { keys };
  await currentKey(services);
  return { keys: await listPublishedKeys(services.db, services.now()) };
}

/** Public keys that were proved once, for each box of secrets: a key does not change. */
const proved = new WeakMap<SecretBox, Map<string, CryptoKey>>();

/**
 * The public key of a signing key of ours, however old: of one that verifies for longer than it is published. It is taken
 * from the private half, which nobody can seal without QM_SECRET_KEY: the public one beside it could be anybody's.
 */
export async function verificationKey(
  { db, secrets }: Pick<KeyServices, 'db' | 'secrets'>,
  kid: string,
): Promise<CryptoKey | 'unknown' | 'unreadable'> {
  const kept = proved.get(secrets) ?? new Map<string, CryptoKey>();
  proved.set(secrets, kept);
  const known = kept.get(kid);
  if (known) return known;
  const sealedKey = await findSealedKey(db, kid);
  if (sealedKey === undefined) return 'unknown';
  try {
    const { kty, crv, x, y } = JSON.parse(secrets.open(sealedKey, signingKeyIdentity(kid))) as JWK;
    const key = await importJWK({ kty, crv, x, y } as JWK, SIGNING_ALGORITHM);
    if (key instanceof Uint8Array) throw new Error(`the signing key ${kid} is symmetric`);
    kept.set(kid, key);
    return key;
  } catch (error) {
    if (error instanceof SecretUnreadableError) return 'unreadable';
    throw error;
  }
}

/**
 * Makes a key where no configured key opens the private half of the one that signs. For whoever says that the key is lost:
 * otherwise a mistaken configuration would retire keys.
 */
export async function replaceLostKey(services: KeyServices): Promise<void> {
  const isUsable = (key: SigningKey) => isCurrent(key, services.now()) && isReadable(services, key);
  const newest = await findNewestSigningKey(services.db);
  if (!newest || !isUsable(newest)) await rotate(services, isUsable);
}

async function currentKey(services: KeyServices): Promise<SigningKey> {
  const newest = await findNewestSigningKey(services.db);
  return newest && isCurrent(newest, services.now()) ? newest : rotate(services);
}

/** Of concurrent rotations one makes the key, the others find it. */
async function rotate(
  services: KeyServices,
  isUsable = (key: SigningKey) => isCurrent(key, services.now()),
): Promise<SigningKey> {
  const { db, secrets } = services;
  const now = services.now();
  const made = await newKey(now);
  try {
    return await inTransaction(db, async (trx) => {
      const newest = await findNewestSigningKey(trx);
      if (newest && isUsable(newest)) return newest;
      await retireSigningKeys(trx, new Date(now.getTime() + OVERLAP_MS), now);
      const sealedKey = secrets.seal(JSON.stringify(made.privateKey), signingKeyIdentity(made.id));
      const key: NewSigningKey = {
        id: made.id,
        publicKey: made.publicKey,
        sealedKey,
        rotationCount: newest ? newest.rotationCount + 1 : 0,
      };
      return insertSigningKey(trx, key, now);
    });
  } catch (error) {
    // Where transactions are not serial, the unique rotation count tells which of two came second.
    const isLater = error instanceof DuplicateKeyError && !db.isTransaction;
    const newest = isLater ? await findNewestSigningKey(db) : undefined;
    if (newest && isUsable(newest)) return newest;
    throw error;
  }
}

/**
 * Whether a configured key opens the signing key as it stands in the database now, whatever this process remembers. True
 * where there is none yet.
 */
export async function opensSigningKey(services: KeyServices): Promise<boolean> {
  const newest = await findNewestSigningKey(services.db);
  return newest === undefined || isReadable(services, newest);
}

function isReadable({ secrets }: KeyServices, { sealedKey, id }: SigningKey): boolean {
  try {
    secrets.open(sealedKey, signingKeyIdentity(id));
    return true;
  } catch (error) {
    if (error instanceof SecretUnreadableError) return false;
    throw error;
  }
}

function isCurrent(key: SigningKey, now: Date): boolean {
  return key.revokedAt === null && now.getTime() - Date.parse(key.createdAt) < ROTATION_MS;
}

async function newKey(now: Date): Promise<{ id: string; publicKey: PublicJwk; privateKey: JWK }> {
  const id = newId('sig', now);
  const pair = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const { kty, crv, x, y } = await exportJWK(pair.publicKey);
  if (!kty || !crv || !x || !y) throw new Error('the key that was made is not on an elliptic curve');
  const publicKey = { kid: id, kty, alg: SIGNING_ALGORITHM, use: 'sig', crv, x, y };
  return { id, publicKey, privateKey: await exportJWK(pair.privateKey) };
}

/** The key that was unsealed last, for each box that opens it: unsealing and importing cost more than a signature. */
const unsealed = new WeakMap<SecretBox, Signer>();

async function signerOf(services: KeyServices, stored: SigningKey): Promise<Signer> {
  const kept = unsealed.get(services.secrets);
  if (kept?.kid === stored.id) return kept;
  const privateKey = JSON.parse(services.secrets.open(stored.sealedKey, signingKeyIdentity(stored.id))) as JWK;
  const key = await importJWK(privateKey, SIGNING_ALGORITHM);
  if (key instanceof Uint8Array) throw new Error(`the signing key ${stored.id} is symmetric`);
  const signer = { kid: stored.id, key };
  unsealed.set(services.secrets, signer);
  return signer;
}

/** The associated data of a signing key's private half. */
export function signingKeyIdentity(id: string): string {
  return `signing_key:${id}`;
}
