import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { AuditFault, AuditVerification } from '@quartermaster/contracts/audit-events.ts';
import { withMutex } from '@quartermaster/db/mutex.ts';
import {
  countUnsealed,
  findChainEnd,
  findUnchainedEvents,
  hasValidPosition,
  listLinks,
  type UnsealedEvent,
} from '@quartermaster/db/repositories/audit-chain.ts';
import { hasExisted } from '@quartermaster/db/repositories/deleted-tenants.ts';
import { covers, narrowScope, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { z } from 'zod';
import { ApiError, ValidationFailure } from '../../platform/errors.ts';
import { paged } from '../../http/cursors.ts';
import type { Services } from '../../platform/services.ts';
import type { CallerContext } from '../../auth/context.ts';
import { emptyChainHash } from '../../platform/audit/chain.ts';
import { faultsOf, type Findings, noFindings } from './findings.ts';
import { signedAt } from './head.ts';
import { macKeyOf } from '../../platform/audit/mac.ts';
import { checkEnd, checkGivenHead, checkHeads, checkRemembered } from './verify-heads.ts';
import { checkLinks } from './verify-links.ts';

type Query = {
  tenant_id?: string | null | undefined;
  head?: string | null | undefined;
  limit: number;
  cursor?: string | null | undefined;
};

/** Rows that are checked before the event loop gets a turn, so that other requests wait for a few milliseconds at most. */
const BATCH_SIZE = 100;

/** A call ends early once it has found this many faults. */
const MAX_FAULTS = 500;

/** Waiting events are counted up to this number. */
const MAX_UNSEALED_COUNTED = 10_000;

/**
 * How far a verification got. It checks first the links in their order, from `position` and its `hash` on; then the events
 * in the order of their ids, and each event has to be in the chain or wait to be sealed.
 */
const ProgressSchema = z.object({
  /** The position of the last link checked. Links that an attacker inserted may have positions below 1. */
  position: z.number().nullable(),
  /** Whether all links are checked. */
  linked: z.boolean(),
  /** The id of the last event checked. */
  event: z.string().nullable(),
  checked: z.int(),
  faults: z.int(),
  unverifiable: z.int(),
});
type Progress = z.infer<typeof ProgressSchema> & { hash: string };

const START = { position: null, linked: false, event: null, checked: 0, faults: 0, unverifiable: 0 };

/**
 * Checks that the events of a tenant are as they were sealed. Each call checks a bounded part in batches. The cursor carries
 * the progress and the last hash, so that several calls prove as much as one.
 */
export async function verify(ctx: CallerContext, input: { query: Query }): Promise<AuditVerification> {
  const { query } = input;
  const tenantId = await chainOf(ctx, query.tenant_id || null);
  const { after, cursorAt } = paged(ctx, input, wholeTenant(tenantId));
  const { db, audit } = ctx.services;
  const known = audit.sealer.remembered(tenantId);
  const { end, head } = await findChainEnd(db, tenantId);
  const found = noFindings();
  const progress = progressAt(after, tenantId);
  if (after === null) {
    await checkEnd(ctx.services, found, { tenantId, end, head });
    await checkRemembered(ctx.services, found, { tenantId, end, head, known });
    if (query.head != null) await checkGivenHead(ctx.services, found, { tenantId, end, token: query.head });
  }
  const part = { tenantId, progress, found, limit: query.limit, upTo: end?.position ?? 0, newest: head?.size ?? 0 };
  // Many concurrent verifications would leave no time for other requests.
  const done = await withMutex(db, `verify ${tenantId}`, () => checkPart(ctx, part));
  const faults = faultsOf(found);
  progress.faults += faults.length;
  progress.unverifiable += found.unverifiable;
  const { hash, ...rest } = progress;
  return {
    tenantId: tenantId === '' ? null : tenantId,
    status: progress.faults === 0 ? 'intact' : 'broken',
    size: head?.size ?? 0,
    head: head?.token ?? null,
    sealedAt: head === null ? null : signedAt(head.token),
    unsealed: await countUnsealed(db, tenantId, MAX_UNSEALED_COUNTED),
    checked: progress.checked,
    unverifiableHeads: progress.unverifiable,
    faults,
    nextCursor: done ? null : cursorAt([JSON.stringify(rest), hash]),
  };
}

type Part = {
  tenantId: string;
  progress: Progress;
  found: Findings;
  limit: number;
  /** The position of the last link. */
  upTo: number;
  /** The position of the newest head. */
  newest: number;
};

/** Continues a verification for up to `limit` rows. Returns whether everything is checked. */
async function checkPart(
  { services }: CallerContext,
  { tenantId, progress, found, limit, upTo, newest }: Part,
): Promise<boolean> {
  const { db } = services;
  for (let left = limit; left > 0 && found.faults.length + found.pending() < MAX_FAULTS; await yieldToEventLoop()) {
    const batchSize = Math.min(BATCH_SIZE, left);
    if (!progress.linked) {
      const links = await listLinks(db, tenantId, { after: progress.position, limit: batchSize });
      for (const { eventId } of links.filter((link) => !hasValidPosition(link))) {
        const detail = 'a link is outside the positions of the chain, so the service did not write it';
        found.faults.push({ kind: 'inserted', position: null, eventId, detail });
      }
      const here = links.filter(({ position }) => position <= upTo);
      const placed = here.filter(hasValidPosition);
      const from = { position: Math.max(progress.position ?? 0, 0), hash: progress.hash };
      checkLinks(found, from, placed);
      await checkHeads(services, found, { tenantId, after: from.position, links: placed, newest });
      progress.position = here.at(-1)?.position ?? progress.position;
      progress.hash = placed.at(-1)?.hash ?? progress.hash;
      progress.checked += placed.length;
      left -= here.length;
      progress.linked = here.length < batchSize;
    } else {
      const page = { after: progress.event, limit: batchSize };
      const { unchained, scanned, last } = await findUnchainedEvents(db, tenantId, page);
      for (const event of unchained) {
        const fault = faultOf(services, event);
        if (fault) found.faults.push({ ...fault, position: null, eventId: event.id });
      }
      if (last === null) return true;
      progress.event = last;
      left -= scanned;
    }
  }
  return false;
}

/** The fault of an event that is not in the chain; null if it properly waits to be sealed. */
function faultOf(
  { secrets }: Pick<Services, 'secrets'>,
  event: UnsealedEvent & { waits: boolean },
): Pick<AuditFault, 'kind' | 'detail'> | null {
  // Removed in the meantime.
  if (event.event === 'missing') return null;
  if (macKeyOf(secrets, event) === null) {
    const detail = 'the event was never sealed and has no valid MAC, so the service did not write it like this';
    return { kind: 'forged', detail };
  }
  if (event.waits) return null;
  const detail = 'the service wrote the event, but its link or its row in audit_unsealed was removed';
  return { kind: 'inserted', detail };
}

/** The tenant whose chain the query means; '' for the platform's own chain. */
async function chainOf({ services, reach, ...ctx }: CallerContext, named: string | null): Promise<string> {
  const everywhere = reach.some((place) => place.tenantId === null);
  if (everywhere && named === null) return '';
  const tenantIds = new Set(narrowScope(reach, { tenantId: named, subTenantId: null }).map((place) => place.tenantId));
  const [tenantId] = tenantIds;
  if (tenantId == null || tenantIds.size > 1) {
    throw new ValidationFailure([{ loc: ['query', 'tenant_id'], msg: 'Field required', type: 'missing', input: {} }]);
  }
  if (!covers(reach, { tenantId, subTenantId: null })) {
    const detail = 'A chain covers a whole tenant, so a credential that is limited to a sub-tenant cannot verify it.';
    throw new ApiError('tenant_forbidden', detail);
  }
  if (ctx.principal.platformAdministrator && !(await hasExisted(services.db, tenantId))) {
    throw new ApiError('tenant_not_found', 'There is no tenant with this id.');
  }
  return tenantId;
}

function progressAt(after: readonly [string, string] | null, tenantId: string): Progress {
  if (after === null) return { ...START, hash: emptyChainHash(tenantId) };
  return { ...ProgressSchema.parse(JSON.parse(after[0])), hash: after[1] };
}
