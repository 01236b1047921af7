import type { AuditFault } from '@quartermaster/contracts/audit-events.ts';
import { findLinkHash, type Head, type Link, listHeads } from '@quartermaster/db/repositories/audit-chain.ts';
import { type ValidationFailure, valueError } from '../../platform/errors.ts';
import type { Services } from '../../platform/services.ts';
import type { Findings } from './findings.ts';
import { claimsOf, isOf, readHead } from './head.ts';
import type { RememberedHead } from '../../platform/audit/sealer.ts';

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
      const detail = `the chain has ${end.position} events, but no signed head`;
      found.faults.push({ kind: 'unsigned', position: 1, eventId: null, detail });
    }
    return;
  }
  if (end === null || end.position < head.size) {
    addTailRemoved(found, end, `a head was signed at position ${head.size}`);
    // checkHeads checks the other heads, together with their links.
    await checkSignature(services, found, { tenantId, head, isNewest: true });
  } else if (end.position > head.size) {
    const detail = `the newest head covers ${head.size} events, but the chain has ${end.position}`;
    found.faults.push({ kind: 'unsigned', position: head.size + 1, eventId: null, detail });
  }
}

/** Checks the heads at the positions of `links`. @param newest the position of the chain's newest head */
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
    // A missing link was already reported.
    if (hash !== undefined && hash !== head.hash) addRecomputed(found, head.size);
    await checkSignature(services, found, { tenantId, head, isNewest: head.size === newest });
  }
}

/**
 * Checks that the chain still contains a head that the caller kept elsewhere.
 *
 * @throws ValidationFailure if the head is not one of this chain, so that it proves nothing
 */
export async function checkGivenHead(
  services: HeadServices,
  found: Findings,
  { tenantId, end, token }: { tenantId: string; end: End; token: string },
): Promise<void> {
  const claimed = claimsOf(token);
  if (claimed === null) throw headFailure('the head should be a signed head of an audit chain');
  if ((claimed.claims.tenant_id ?? '') !== tenantId) throw headFailure('the head should belong to this chain');
  const { is } = await readHead(services, token);
  if (is === 'forged') {
    throw headFailure('the head should be signed by a key in the database of this service');
  }
  const { size, hash } = claimed.claims;
  if (is === 'unverifiable') {
    const detail = 'the key that signed the given head cannot be decrypted with QM_SECRET_KEY';
    found.faults.push({ kind: 'head_unverifiable', position: size, eventId: null, detail });
  }
  if (end === null || end.position < size) addTailRemoved(found, end, `a head was signed at position ${size}`);
  else await checkLink(services, found, { tenantId, size, hash });
}

/**
 * Checks that the chain still contains the head that this process remembers. This finds an end that was removed together
 * with its heads, and a chain that was computed again from the start.
 */
export async function checkRemembered(
  services: HeadServices,
  found: Findings,
  { tenantId, end, head, known }: { tenantId: string; end: End; head: Head | null; known: RememberedHead | undefined },
): Promise<void> {
  // checkHeads checks the newest head, together with its link.
  if (known === undefined || (known.size === head?.size && known.hash === head.hash)) return;
  const { size, hash } = known;
  if (end === null || end.position < size) addTailRemoved(found, end, `this server has seen its position ${size}`);
  else await checkLink(services, found, { tenantId, size, hash });
}

async function checkLink(
  { db }: HeadServices,
  found: Findings,
  { tenantId, size, hash }: { tenantId: string } & Pick<Head, 'size' | 'hash'>,
): Promise<void> {
  const stored = await findLinkHash(db, tenantId, size);
  // checkLinks reports a missing link.
  if (stored !== undefined && stored !== hash) addRecomputed(found, size);
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
  else if (!isOf(read.claims, tenantId, head))
    fault('head_forged', 'the head was signed for another chain, position or hash');
  else if (read.is === 'unverifiable' && isNewest) {
    fault('head_unverifiable', 'the key that signed the newest head cannot be decrypted with QM_SECRET_KEY');
  } else if (read.is === 'unverifiable') found.unverifiable += 1;
}

/** @param evidence how it is known that the chain was longer */
function addTailRemoved(found: Findings, end: End, evidence: string): void {
  const last = end?.position ?? 0;
  const detail = `the chain ends at position ${last}; ${evidence}`;
  addOnce(found, { kind: 'tail_removed', position: last + 1, eventId: null, detail });
}

function addRecomputed(found: Findings, position: number): void {
  const detail =
    'the hash of the chain differs from the hash that was signed here, so the chain was recomputed here or earlier';
  addOnce(found, { kind: 'recomputed', position, eventId: null, detail });
}

/** Several heads may show the same fault. */
function addOnce(found: Findings, fault: AuditFault): void {
  const isKnown = found.faults.some(({ kind, position }) => kind === fault.kind && position === fault.position);
  if (!isKnown) found.faults.push(fault);
}

function headFailure(rule: string): ValidationFailure {
  return valueError(['query', 'head'], rule);
}
