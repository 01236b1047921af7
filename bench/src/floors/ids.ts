import { randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 16;
const random = Buffer.alloc(RANDOM_LENGTH);

/** An id in this API's form: the time, then 80 random bits. */
export function newId(prefix: string, now: Date): string {
  let rest = now.getTime();
  let text = '';
  for (let at = 0; at < TIME_LENGTH; at += 1) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  randomFillSync(random);
  for (const byte of random) text += ALPHABET.charAt(byte & 31);
  return `${prefix}_${text}`;
}
