import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/**
 * Encryption at rest: AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce. The associated data contain the record's
 * identity, so that a ciphertext that was copied to another record does not open.
 */
export type SecretBox = {
  seal(secret: string, identity: string): string;
  /**
   * Opens a secret that the current key or a former key sealed.
   *
   * @throws {SecretUnreadableError} if no key opens it: it has another key or identity, or was changed
   */
  open(sealed: string, identity: string): string;
  /**
   * The same secret, sealed with the current key; null if it already is.
   *
   * @throws {SecretUnreadableError} if no key opens it
   */
  reseal(sealed: string, identity: string): string | null;
  /** A separate key for another purpose, by HKDF (RFC 5869) with SHA-256. 32 bytes. */
  derive(purpose: string): Buffer;
  /** HMAC-SHA256 (RFC 2104) of a text with the current key for a purpose, base64url. */
  mac(purpose: string, text: string): string;
  /** Which of our keys made the MAC of a text for a purpose; null if none did. */
  macKey(purpose: string, text: string, mac: string): 'current' | 'former' | null;
};

/** No configured key opens a secret. The message reveals nothing about the secret. */
export class SecretUnreadableError extends Error {
  constructor() {
    super('none of the configured keys opens the secret');
    this.name = 'SecretUnreadableError';
  }
}

/** The format is part of the associated data, so that a secret of one format is never accepted as a secret of another one. */
const FORMAT = 'v2';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * @param key 32 bytes; seals and opens
 * @param former earlier keys; they only open
 */
export function secretBox(key: Buffer, former: readonly Buffer[] = []): SecretBox {
  const current = encryptionKeyOf(key);
  const keys = [current, ...former.map(encryptionKeyOf)];
  const open = (sealed: string, identity: string): string => {
    for (const candidate of keys) {
      const opened = openedWith(candidate, sealed, identity);
      if (opened !== null) return opened;
    }
    throw new SecretUnreadableError();
  };
  const seal = (secret: string, identity: string): string => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', current, nonce);
    cipher.setAAD(Buffer.from(associatedWith(identity)));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return `${FORMAT}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  };
  /**
   * The derived keys of each purpose, the current key first. They are key objects: a MAC with a key object takes Node a fifth
   * of the time that a MAC with the bytes takes.
   */
  const macKeys = new Map<string, KeyObject[]>();
  const macsOf = (purpose: string, text: string): Buffer[] => {
    const kept = macKeys.get(purpose) ?? [key, ...former].map((one) => createSecretKey(derived(one, purpose)));
    macKeys.set(purpose, kept);
    return kept.map((one) => createHmac('sha256', one).update(text).digest());
  };
  return {
    mac(purpose, text) {
      const [mac = Buffer.of()] = macsOf(purpose, text);
      return mac.toString('base64url');
    },
    macKey(purpose, text, mac) {
      const given = Buffer.from(mac, 'base64url');
      let which: 'current' | 'former' = 'current';
      for (const expected of macsOf(purpose, text)) {
        if (given.length === expected.length && timingSafeEqual(given, expected)) return which;
        which = 'former';
      }
      return null;
    },
    seal,
    open,
    reseal(sealed, identity) {
      const isCurrent = openedWith(current, sealed, identity) !== null;
      return isCurrent ? null : seal(open(sealed, identity), identity);
    },
    derive: (purpose) => derived(key, purpose),
  };
}

function encryptionKeyOf(key: Buffer): Buffer {
  return derived(key, 'secrets at rest');
}

function derived(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `quartermaster ${purpose}`, 32));
}

function associatedWith(identity: string): string {
  return `${FORMAT}\0${identity}`;
}

/** Null if this key does not open it, or the text has another format. */
function openedWith(key: Buffer, sealed: string, identity: string): string | null {
  const [format, box = ''] = sealed.split('.');
  if (format !== FORMAT) return null;
  const bytes = Buffer.from(box, 'base64url');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(associatedWith(identity)));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    return opened.toString('utf8');
  } catch {
    // The authentication tag does not match.
    return null;
  }
}
