import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Encrypts a secret in the format `v1`, which earlier versions wrote. */
export function formerBox(key: Buffer, secret: string, identity: string): string {
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'quartermaster secrets at rest', 32));
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', derived, nonce);
  cipher.setAAD(Buffer.from(identity));
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return `v1.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
}
