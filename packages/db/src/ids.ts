import { randomBytes } from 'node:crypto';

/** Crockford's base 32, lower case: sorts as the numbers do, and has no letters that are taken for digits. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

type Prefix =
  | 'prov'
  | 'inv'
  | 'gw'
  | 'obs'
  | 'rec'
  | 'task'
  | 'man'
  | 'key'
  | 'ses'
  | 'ten'
  | 'sa'
  | 'aud'
  | 'sig'
  | 'sec';

/** A new id, time-ordered: prefix, 48 bits of milliseconds and 80 random bits, as 26 characters (ULID). */
export function newId(prefix: Prefix, now: Date): string {
  return `${prefix}_${base32(BigInt(now.getTime()), 10)}${base32(random(10), 16)}`;
}

/** Less than every id of this time and later, more than those before: a range of ids is a range of times. */
export function idsSince(prefix: Prefix, time: Date): string {
  return `${prefix}_${base32(BigInt(time.getTime()), 10)}`;
}

/** A user's id: 130 random bits alone, since a time inside would tell a stranger how old the account is. */
export function newUserId(): string {
  return `usr_${base32(random(17) >> 6n, 26)}`;
}

function random(bytes: number): bigint {
  return BigInt(`0x${randomBytes(bytes).toString('hex')}`);
}

function base32(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < length; index += 1) {
    text = ALPHABET.charAt(Number(rest & 31n)) + text;
    rest >>= 5n;
  }
  return text;
}
