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
  | 'sig'
  | 'sec'
  | 'byt'
  | 'use';

/** A new id, time-ordered: prefix, 48 bits of milliseconds and 80 random bits, as 26 characters (ULID). */
export function newId(prefix: Prefix, now: Date): string {
  return `${prefix}_${base32(BigInt(now.getTime()), 10)}${base32(random(10), 16)}`;
}

/** The last block's id in its two parts. */
let lastBlock = { time: 0, rest: 0n };

/**
 * The id of a block of spans: a ULID of 26 characters, which holds the time that the block came in. Those that this process
 * makes within one millisecond are in order, too.
 */
export function newBlockId(now: Date): string {
  const time = now.getTime();
  // The highest bit stays free, so that adding to it never overflows.
  const rest = time === lastBlock.time ? lastBlock.rest + random(4) + 1n : random(10) >> 1n;
  lastBlock = { time, rest };
  return `${base32(BigInt(time), 10)}${base32(rest, 16)}`;
}

/** When a block came in. */
export function timeOfBlock(id: string): Date {
  let time = 0;
  for (const digit of id.slice(0, 10)) time = time * 32 + ALPHABET.indexOf(digit);
  return new Date(time);
}

/** The greatest id of an audit event so far, in its two parts. */
let lastAuditEvent = { time: 0, rest: 0n };

/**
 * An audit event's id. Each is greater than all that this process made before, also within a millisecond: events are
 * sealed and listed in the order in which they were written.
 */
export function newAuditEventId(now: Date): string {
  const time = now.getTime();
  // The highest bit stays free, so that adding to it overflows never; the steps are random, so that none is guessed.
  lastAuditEvent =
    time > lastAuditEvent.time
      ? { time, rest: random(10) >> 1n }
      : { time: lastAuditEvent.time, rest: lastAuditEvent.rest + random(4) + 1n };
  return `aud_${base32(BigInt(lastAuditEvent.time), 10)}${base32(lastAuditEvent.rest, 16)}`;
}

/** Less than every id of this time and later, more than those before: a range of ids is a range of times. */
export function idsSince(prefix: Prefix, time: Date): string {
  return `${prefix}_${base32(BigInt(time.getTime()), 10)}`;
}

/** A user's id: 130 random bits alone, since a time inside would tell a stranger how old the account is. */
export function newUserId(): string {
  return `usr_${base32(random(17) >> 6n, 26)}`;
}

/**
 * The id of a tenant that a user creates for themselves: the beginning that they chose, and 50 random bits. Strangers choose
 * it, so it must never be an id that a platform administrator could expect to be free.
 */
export function newSelfServiceTenantId(beginning: string): string {
  return `${beginning}-${base32(random(7) >> 6n, 10)}`;
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
