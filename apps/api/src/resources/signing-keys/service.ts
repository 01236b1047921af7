import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { SESSION_TTL_MAX_SECONDS } from '@quartermaster/contracts/gateways.ts';
import type { Database } from '@quartermaster/db/database.ts';
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
import { type SecretBox, SecretUnreadableError } from '../../platform/secret-box.ts';
import type { Services } from '../../platform/services.ts';

/** How long a key signs. */
const ROTATION_DAYS = 90;

export const SIGNING_ALGORITHM = 'ES256';

/** A private key, ready to sign. */
export type Signer = { kid: string; key: KeyObject };

export type KeyServices = Pick<Services, 'db' | 'now' | 'secrets'>;

const ROTATION_MS = ROTATION_DAYS * 24 * 3600 * 1000;

/** A retired key stays published for as long as a token may be valid that it signed just before the rotation. */
const OVERLAP_MS = SESSION_TTL_MAX_SECONDS * 1000;

/** The key that signs now. Creates or rotates it if that is due; inside a transaction, as part of the transaction. */
export async function currentSigner(services: KeyServices): Promise<Signer> {
  return signerOf(services, await currentKey(services));
}

/** The key that signs now, read in the caller's transaction. Undefined if a new key is due: `currentSigner` creates it. */
export async function findSigner(services: KeyServices, trx: Database): Promise<Signer | undefined> {
  const key = await findCurrentKey(services, trx);
  return key && signerOf(services, key);
}

/**
 * The public keys that verify session tokens (RFC 7517), newest first, at least one. This endpoint is public, so it does not
 * rotate a key that is due: the next session does. It writes only if there is no key at all.
 */
export async function jwks(services: KeyServices): Promise<{ keys: PublicJwk[] }> {
  const keys = await listPublishedKeys(services.db, services.now());
  if (keys.length > 0) return { keys };
  await currentKey(services);
  return { keys: await listPublishedKeys(services.db, services.now()) };
}

/** Public keys by id, for each secret box. A signing key never changes. */
const verificationKeys = new WeakMap<SecretBox, Map<string, CryptoKey>>();

/** The form of the ids of signing keys. */
const KEY_ID = /^sig_[0-9A-Z]{26}$/i;

/**
 * The public key of one of our signing keys, even if it is no longer published. It is derived from the private half, because
 * only the holder of QM_SECRET_KEY can seal that. An attacker with write access to the database could replace the stored
 * public half.
 *
 * @param kid as a token says it: not necessarily a text. Databases refuse some of the others, and texts with a zero byte
 * @returns `unknown` for an id that is not in the database; `unreadable` if no configured key opens the private half
 */
export async function verificationKey(
  { db, secrets }: Pick<KeyServices, 'db' | 'secrets'>,
  kid: unknown,
): Promise<CryptoKey | 'unknown' | 'unreadable'> {
  if (typeof kid !== 'string' || !KEY_ID.test(kid)) return 'unknown';
  const cache = verificationKeys.get(secrets) ?? new Map<string, CryptoKey>();
  verificationKeys.set(secrets, cache);
  const cached = cache.get(kid);
  if (cached) return cached;
  const sealedKey = await findSealedKey(db, kid);
  if (sealedKey === undefined) return 'unknown';
  try {
    const { kty, crv, x, y } = JSON.parse(secrets.open(sealedKey, signingKeyIdentity(kid))) as JWK;
    const key = await importJWK({ kty, crv, x, y } as JWK, SIGNING_ALGORITHM);
    if (key instanceof Uint8Array) throw new Error(`the signing key ${kid} is symmetric`);
    cache.set(kid, key);
    return key;
  } catch (error) {
    if (error instanceof SecretUnreadableError) return 'unreadable';
    throw error;
  }
}

/**
 * Replaces the signing key if no configured key opens its private half. Only for an operator who declared the key lost:
 * otherwise a wrong configuration would retire signing keys.
 */
export async function replaceLostKey(services: KeyServices): Promise<void> {
  const isUsable = (key: SigningKey) => isCurrent(key, services.now()) && isReadable(services, key);
  const newest = await findNewestSigningKey(services.db);
  if (!newest || !isUsable(newest)) await rotate(services, isUsable);
}

async function currentKey(services: KeyServices): Promise<SigningKey> {
  return (await findCurrentKey(services, services.db)) ?? rotate(services);
}

/** Undefined if there is no key yet, or if the newest one is due to be replaced. */
async function findCurrentKey({ now }: KeyServices, db: Database): Promise<SigningKey | undefined> {
  const newest = await findNewestSigningKey(db);
  return newest && isCurrent(newest, now()) ? newest : undefined;
}

/** Creates the next signing key. Of concurrent rotations only one creates it; the others return it. */
async function rotate(
  services: KeyServices,
  isUsable = (key: SigningKey) => isCurrent(key, services.now()),
): Promise<SigningKey> {
  const { db, secrets } = services;
  const now = services.now();
  const generated = await newKey(now);
  try {
    return await inTransaction(db, async (trx) => {
      const newest = await findNewestSigningKey(trx);
      if (newest && isUsable(newest)) return newest;
      await retireSigningKeys(trx, new Date(now.getTime() + OVERLAP_MS), now);
      const sealedKey = secrets.seal(JSON.stringify(generated.privateKey), signingKeyIdentity(generated.id));
      const key: NewSigningKey = {
        id: generated.id,
        publicKey: generated.publicKey,
        sealedKey,
        rotationCount: newest ? newest.rotationCount + 1 : 0,
      };
      return insertSigningKey(trx, key, now);
    });
  } catch (error) {
    // On PostgreSQL, the unique rotation count makes the second of two concurrent rotations fail.
    const isLater = error instanceof DuplicateKeyError && !db.isTransaction;
    const newest = isLater ? await findNewestSigningKey(db) : undefined;
    if (newest && isUsable(newest)) return newest;
    throw error;
  }
}

/** Whether a configured key opens the current signing key. Reads it from the database, not from a cache. True if there is none. */
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

/** The last signer of each secret box. Unsealing and importing a key costs more than a signature. */
const signers = new WeakMap<SecretBox, Signer>();

function signerOf(services: KeyServices, stored: SigningKey): Signer {
  const cached = signers.get(services.secrets);
  if (cached?.kid === stored.id) return cached;
  const privateKey = JSON.parse(services.secrets.open(stored.sealedKey, signingKeyIdentity(stored.id))) as JWK;
  const signer = { kid: stored.id, key: createPrivateKey({ key: privateKey, format: 'jwk' }) };
  signers.set(services.secrets, signer);
  return signer;
}

/**
 * Signs a compact JWS (RFC 7515, section 3.1) with ES256 (RFC 7518, section 3.4). Not with jose: it signs through WebCrypto,
 * which takes more CPU time than OpenSSL's signature itself.
 */
export function signJws({ kid, key }: Signer, typ: string, claims: object): string {
  const header = Buffer.from(JSON.stringify({ alg: SIGNING_ALGORITHM, typ, kid })).toString('base64url');
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

/** The associated data of a signing key's private half. */
export function signingKeyIdentity(id: string): string {
  return `signing_key:${id}`;
}
