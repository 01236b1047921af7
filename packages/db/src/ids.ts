import { randomFillSync } from 'node:crypto';

/** Crockford's base 32 in lower case. It sorts in numerical order, and leaves out letters that look like digits. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

type Prefix =
  | 'prov'
  | 'inv'
  | 'gw'
  | 'obs'
  | 'rec'
  | 'app'
  | 'task'
  | 'man'
  | 'key'
  | 'ses'
  | 'cses'
  | 'ten'
  | 'sa'
  | 'sig'
  | 'sec'
  | 'byt'
  | 'use'
  | 'price';

/** A new id, time-ordered: prefix, 48 bits of milliseconds and 80 random bits, as 26 characters (ULID). */
export function newId(prefix: Prefix, now: Date): string {
  return `${prefix}_${base32(BigInt(now.getTime()), 10)}${base32(random(10), 16)}`;
}

/** The time and the random part of the last block id. */
let lastBlock = { time: 0, rest: 0n };

/**
 * The id of a block of spans: a ULID of 26 characters that contains the time of receipt. Ids that this process makes within
 * one millisecond are in order as well.
 */
export function newBlockId(now: Date): string {
  const time = now.getTime();
  // The highest bit is left free, so that additions do not overflow.
  const rest = time === lastBlock.time ? lastBlock.rest + random(4) + 1n : random(10) >> 1n;
  lastBlock = { time, rest };
  return `${base32(BigInt(time), 10)}${base32(rest, 16)}`;
}

/** The time of receipt in a block's id. */
export function timeOfBlock(id: string): Date {
  let time = 0;
  for (const digit of id.slice(0, 10)) time = time * 32 + ALPHABET.indexOf(digit);
  return new Date(time);
}

/** The time and the random part of the greatest audit event id so far. */
let lastAuditEvent = { time: 0, rest: 0n };

/**
 * An audit event's id. It is greater than every earlier one of this process, even within a millisecond or if the clock goes
 * back. Events are sealed and listed in the order in which they were written.
 */
export function newAuditEventId(now: Date): string {
  const time = now.getTime();
  // The highest bit is left free, so that additions do not overflow. The increments are random, so that ids cannot be guessed.
  lastAuditEvent =
    time > lastAuditEvent.time
      ? { time, rest: random(10) >> 1n }
      : { time: lastAuditEvent.time, rest: lastAuditEvent.rest + random(4) + 1n };
  return `aud_${base32(BigInt(lastAuditEvent.time), 10)}${base32(lastAuditEvent.rest, 16)}`;
}

/** A lower bound for the ids of this time and later: a range of times is a range of ids. */
export function lowestIdAt(prefix: Prefix, time: Date): string {
  return `${prefix}_${base32(BigInt(time.getTime()), 10)}`;
}

/** A user's id: 130 random bits. It contains no time, since that would reveal the age of the account. */
export function newUserId(): string {
  return `usr_${base32(random(17) >> 6n, 26)}`;
}

/**
 * The id of a tenant that a user creates by self-service: a prefix that the user chose, and 50 random bits. Without them a
 * stranger could take an id that a platform administrator wants to use.
 */
export function newSelfServiceTenantId(prefix: string): string {
  return `${prefix}-${base32(random(7) >> 6n, 10)}`;
}

/** Random bytes for many ids. Drawing them for each id separately takes longer than everything else. */
const pool = Buffer.alloc(4096);
let used = pool.length;

function random(bytes: number): bigint {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return BigInt(`0x${pool.toString('hex', used - bytes, used)}`);
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
