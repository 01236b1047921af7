import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * API keys: `qm_<key id>_<secret><checksum>`. The secret is 256 random bits in base 62. The checksum is the CRC-32 of
 * everything before it, so that a damaged key is refused without a look-up and secret scanners recognise keys.
 */
const FORMAT = /^qm_(key_[0-9a-z]{26})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

const ID_AT_START = /^qm_(key_[0-9a-z]{26})(?![0-9A-Za-z])/;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const PREFIX_SECRET_LENGTH = 4;

export type MintedKey = { key: string; prefix: string; digest: string };

/** A new key for the credential with this id. The key itself is shown once; only the digest is stored. */
export function mintApiKey(keyId: string): MintedKey {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH);
  const body = `qm_${keyId}_${secret}`;
  const key = body + checksumOf(body);
  return { key, prefix: prefixOf(keyId, secret), digest: digestOf(key) };
}

/** The parts of a key, or null if it is malformed or damaged. */
export function parseApiKey(key: string): { keyId: string; prefix: string; digest: string } | null {
  const [, keyId, secret, checksum] = FORMAT.exec(key) ?? [];
  if (keyId === undefined || secret === undefined || checksumOf(`qm_${keyId}_${secret}`) !== checksum) return null;
  return { keyId, prefix: prefixOf(keyId, secret), digest: digestOf(key) };
}

/** The id in a key that may be damaged: cut off, mistyped, or with something after it. Null if there is none. */
export function keyIdIn(text: string): string | null {
  return ID_AT_START.exec(text)?.[1] ?? null;
}

/** Compares two digests in constant time. */
export function digestsEqual(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** SHA-256. The secret is random, so a slow password hash is not needed. */
function digestOf(key: string): string {
  return hash('sha256', key);
}

function prefixOf(keyId: string, secret: string): string {
  return `qm_${keyId}_${secret.slice(0, PREFIX_SECRET_LENGTH)}`;
}

function checksumOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    text = ALPHABET.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < length; index += 1) {
    text = ALPHABET.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
