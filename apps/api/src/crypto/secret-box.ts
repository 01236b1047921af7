import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Encryption at rest: AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce. The record's identity goes in as
 * associated data, so that a ciphertext copied to another record does not open.
 */
export type SecretBox = {
  seal(secret: string, identity: string): string;
  /**
   * Opens what the current key or a former one sealed.
   *
   * @throws {SecretUnreadableError} where no key opens it: another key, another identity, or a changed byte
   */
  open(sealed: string, identity: string): string;
  /**
   * The same secret sealed with the current key; null where it is already.
   *
   * @throws {SecretUnreadableError} where no key opens it
   */
  reseal(sealed: string, identity: string): string | null;
  /** A key of its own for another purpose, by HKDF (RFC 5869) with SHA-256. 32 bytes. */
  derive(purpose: string): Buffer;
};

/** No key that is configured opens a secret. Says nothing of it. */
export class SecretUnreadableError extends Error {
  constructor() {
    super('no key that is configured opens the secret');
    this.name = 'SecretUnreadableError';
  }
}

const FORMAT = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * @param key 32 bytes: seals and opens
 * @param former keys before it: they open alone
 */
export function secretBox(key: Buffer, former: readonly Buffer[] = []): SecretBox {
  const current = encryptionKeyOf(key);
  const keys = [current, ...former.map(encryptionKeyOf)];
  const open = (sealed: string, identity: string): string => {
    for (const one of keys) {
      const opened = openedWith(one, sealed, identity);
      if (opened !== null) return opened;
    }
    throw new SecretUnreadableError();
  };
  const seal = (secret: string, identity: string): string => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', current, nonce);
    cipher.setAAD(Buffer.from(identity));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return `${FORMAT}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  };
  return {
    seal,
    open,
    reseal: (sealed, identity) =>
      openedWith(current, sealed, identity) === null ? seal(open(sealed, identity), identity) : null,
    derive: (purpose) => derived(key, purpose),
  };
}

function encryptionKeyOf(key: Buffer): Buffer {
  return derived(key, 'secrets at rest');
}

function derived(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `quartermaster ${purpose}`, 32));
}

/** Null where this key does not open it. */
function openedWith(key: Buffer, sealed: string, identity: string): string | null {
  const [format, text = ''] = sealed.split('.');
  const bytes = Buffer.from(text, 'base64url');
  if (format !== FORMAT || bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(identity));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    return opened.toString('utf8');
  } catch {
    // The authentication tag does not fit.
    return null;
  }
}
