import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Encryption at rest: AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce. The record's identity goes in as
 * associated data, so that a ciphertext copied to another record does not open.
 */
export type SecretBox = {
  seal(secret: string, identity: string): string;
  /** @throws where the key, the identity or a byte of the text is another */
  open(sealed: string, identity: string): string;
  /** A key of its own for another purpose, by HKDF (RFC 5869) with SHA-256. 32 bytes. */
  derive(purpose: string): Buffer;
};

const FORMAT = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param key 32 bytes */
export function secretBox(key: Buffer): SecretBox {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', key, '', `quartermaster ${purpose}`, 32));
  const encryptionKey = derive('secrets at rest');
  return {
    derive,
    seal(secret, identity) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', encryptionKey, nonce);
      cipher.setAAD(Buffer.from(identity));
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return `${FORMAT}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
    },
    open(sealed, identity) {
      const [format, text = ''] = sealed.split('.');
      if (format !== FORMAT) throw new Error('the secret has an unknown format');
      const bytes = Buffer.from(text, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', encryptionKey, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(identity));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
      return opened.toString('utf8');
    },
  };
}
