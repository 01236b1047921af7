import type { AuditFault } from '@quartermaster/contracts/audit-events.ts';
import { findLinkHash, type Head, type Link, listHeads } from '@quartermaster/db/repositories/audit-chain.ts';
import { ValidationFailure } from '../errors.ts';
import type { Services } from '../services.ts';
import type { Findings } from './findings.ts';
import { claimsOf, isOf, readHead } from './head.ts';
import type { RememberedHead } from './seal.ts';

type End = Pick<Link, 'position' | 'hash'> | null;
type HeadServices = Pick<Services, 'db' | 'secrets'>;

/** Checks that the chain ends with its newest head. */
export async function checkEnd(
  services: HeadServices,
  found: Findings,
  { tenantId, end, head }: { tenantId: string; end: End; head: Head | null },
): Promise<void> {
  if (head === null) {
    if (end !== null) {
      const detail = `the chain has ${end.position} events, and no signed head`;
      found.faults.push({ kind: 'unsigned', position: 1, eventId: null, detail });
    }
    return;
  }
  if (end === null || end.position < head.size) {
    tailRemoved(found, end, `a head was signed at position ${head.size}`);
    // The others are looked at beside their links.
    await checkSignature(services, found, { tenantId, head, isNewest: true });
  } else if (end.position > head.size) {
    const detail = `the newest head signs ${head.size} events; the chain has ${end.position}`;
    found.faults.push({ kind: 'unsigned', position: head.size + 1, eventId: null, detail });
  }
}

/** Checks the heads among some links. @param newest the size of the newest head of all */
export async function checkHeads(
  services: HeadServices,
  found: Findings,
  { tenantId, after, links, newest }: { tenantId: string; after: number; links: readonly Link[]; newest: number },
): Promise<void> {
  const last = links.at(-1);
  if (last === undefined) return;
  const hashes = new Map(links.map(({ position, hash }) => [position, hash]));
  for (const head of await listHeads(services.db, tenantId, { after, upTo: last.position })) {
    const hash = hashes.get(head.size);
    // Where there is no link, that was told.
    if (hash !== undefined && hash !== head.hash) recomputed(found, head.size);
    await checkSignature(services, found, { tenantId, head, isNewest: head.size === newest });
  }
}

/**
 * Checks that the chain holds a head that was kept elsewhere.
 *
 * @throws ValidationFailure where it is none of this chain: nothing is proved by it
 */
export async function checkGivenHead(
  services: HeadServices,
  found: Findings,
  { tenantId, end, token }: { tenantId: string; end: End; token: string },
): Promise<void> {
  const claimed = claimsOf(token);
  if (claimed === null) throw headFailure('the head should be a signed head of an audit chain');
  if ((claimed.claims.tenant_id ?? '') !== tenantId) throw headFailure('the head is that of another chain');
  const { is } = await readHead(services, token);
  if (is === 'forged') {
    throw headFailure('the head was not signed by a key of this service, or the key was removed from its database');
  }
  const { size, hash } = claimed.claims;
  if (is === 'unverifiable') {
    const detail = 'the head that was given is signed by a key that QM_SECRET_KEY does not open';
    found.faults.push({ kind: 'head_unverifiable', position: size, eventId: null, detail });
  }
  if (end === null || end.position < size) tailRemoved(found, end, `a head was signed at position ${size}`);
  else await checkLink(services, found, { tenantId, size, hash });
}

/**
 * Checks that the chain holds what this process remembers of it: that tells of an end that was removed with its heads, and
 * of a chain that another process has begun anew.
 */
export async function checkRemembered(
  services: HeadServices,
  found: Findings,
  { tenantId, end, head, known }: { tenantId: string; end: End; head: Head | null; known: RememberedHead | undefined },
): Promise<void> {
  // The newest head itself is looked at beside its link.
  if (known === undefined || (known.size === head?.size && known.hash === head.hash)) return;
  const { size, hash } = known;
  if (end === null || end.position < size) tailRemoved(found, end, `this server has seen it end at position ${size}`);
  else await checkLink(services, found, { tenantId, size, hash });
}

async function checkLink(
  { db }: HeadServices,
  found: Findings,
  { tenantId, size, hash }: { tenantId: string } & Pick<Head, 'size' | 'hash'>,
): Promise<void> {
  const there = await findLinkHash(db, tenantId, size);
  // Where there is no link, that is told.
  if (there !== undefined && there !== hash) recomputed(found, size);
}

async function checkSignature(
  services: HeadServices,
  found: Findings,
  { tenantId, head, isNewest }: { tenantId: string; head: Head; isNewest: boolean },
): Promise<void> {
  const read = await readHead(services, head.token);
  const fault = (kind: 'head_forged' | 'head_unverifiable', detail: string) =>
    found.faults.push({ kind, position: head.size, eventId: null, detail });
  if (read.is === 'forged') fault('head_forged', 'the head was not signed by a key of this service');
  else if (!isOf(read.claims, tenantId, head)) fault('head_forged', 'the head was signed for another place or hash');
  else if (read.is === 'unverifiable' && isNewest) {
    fault('head_unverifiable', 'the newest head was signed by a key that QM_SECRET_KEY does not open');
  } else if (read.is === 'unverifiable') found.unverifiable += 1;
}

/** @param witness what tells that there was more */
function tailRemoved(found: Findings, end: End, witness: string): void {
  const there = end?.position ?? 0;
  const detail = `the chain ends at position ${there}; ${witness}`;
  once(found, { kind: 'tail_removed', position: there + 1, eventId: null, detail });
}

function recomputed(found: Findings, position: number): void {
  const detail = 'the chain has another hash than the one that was signed here: it was computed anew, here or before';
  once(found, { kind: 'recomputed', position, eventId: null, detail });
}

/** Several heads may tell of one fault. */
function once(found: Findings, fault: AuditFault): void {
  const isTold = found.faults.some(({ kind, position }) => kind === fault.kind && position === fault.position);
  if (!isTold) found.faults.push(fault);
}

function headFailure(rule: string): ValidationFailure {
  const said = { msg: `Value error, ${rule}`, type: 'value_error', ctx: { error: rule } };
  return new ValidationFailure([{ loc: ['query', 'head'], ...said }]);
}
