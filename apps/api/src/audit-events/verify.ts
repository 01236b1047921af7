import { setImmediate as breathe } from 'node:timers/promises';
import type { AuditFault, AuditVerification } from '@quartermaster/contracts/audit-events.ts';
import { oneAtATime } from '@quartermaster/db/one-at-a-time.ts';
import {
  countUnsealed,
  findChainEnd,
  findEventsBesideChain,
  isPlaced,
  listLinks,
  type UnsealedEvent,
} from '@quartermaster/db/repositories/audit-chain.ts';
import { placeExists } from '@quartermaster/db/repositories/tenants.ts';
import { covers, narrowed } from '@quartermaster/db/tenancy.ts';
import { z } from 'zod';
import { ApiError, ValidationFailure } from '../errors.ts';
import { paged } from '../pages.ts';
import type { Services } from '../services.ts';
import type { CallerContext } from '../trpc.ts';
import { emptyChain } from './chain.ts';
import { type Findings, noFindings, settle } from './findings.ts';
import { signedAt } from './head.ts';
import { macKeyOf } from './mac.ts';
import { checkEnd, checkGivenHead, checkHeads, checkRemembered } from './verify-heads.ts';
import { checkLinks } from './verify-links.ts';

type Query = {
  tenant_id?: string | null | undefined;
  head?: string | null | undefined;
  limit: number;
  cursor?: string | null | undefined;
};

/** Rows that are computed without a pause, so that requests in between wait for a few milliseconds. */
const OF_CHUNK = 100;

/** A call ends early once it has found so many. */
const FAULTS_OF_CALL = 500;

/** Events that wait are counted so far. */
const MOST_UNSEALED = 10_000;

/**
 * Where a verification stands: first the links in their order, from `position` with its `hash` on; then the events in
 * the order of their ids, each of which has to be in the chain or wait for it.
 */
const StandingSchema = z.object({
  /** The link that was looked at last. The first ones may stand before position 1, where somebody put them. */
  position: z.number().nullable(),
  /** Whether the links are through. */
  linked: z.boolean(),
  /** The event that was looked at last. */
  event: z.string().nullable(),
  checked: z.int(),
  faults: z.int(),
  unverifiable: z.int(),
});
type Standing = z.infer<typeof StandingSchema> & { hash: string };

const START = { position: null, linked: false, event: null, checked: 0, faults: 0, unverifiable: 0 };

/**
 * Proves that the events of a tenant are as they were sealed. Each call does a bounded part of it, in chunks; the cursor
 * takes with it what was computed, so that the calls together prove the same as one.
 */
export async function verify(ctx: CallerContext, input: { query: Query }): Promise<AuditVerification> {
  const { query } = input;
  const tenantId = await chainOf(ctx, query.tenant_id || null);
  const { after, cursorAt } = paged(ctx, input, [{ tenantId, subTenantId: null }]);
  const { db, sealer } = ctx.services;
  const known = sealer.remembered(tenantId);
  const { end, head } = await findChainEnd(db, tenantId);
  const found = noFindings();
  const standing = standingAt(after, tenantId);
  if (after === null) {
    await checkEnd(ctx.services, found, { tenantId, end, head });
    await checkRemembered(ctx.services, found, { tenantId, end, head, known });
    if (query.head != null) await checkGivenHead(ctx.services, found, { tenantId, end, token: query.head });
  }
  const walk = { tenantId, standing, found, limit: query.limit, upTo: end?.position ?? 0, newest: head?.size ?? 0 };
  // Many at once would leave no time for other requests.
  const done = await oneAtATime(db, `verify ${tenantId}`, () => goOn(ctx, walk));
  const faults = settle(found);
  standing.faults += faults.length;
  standing.unverifiable += found.unverifiable;
  const { hash, ...rest } = standing;
  return {
    tenantId: tenantId === '' ? null : tenantId,
    status: standing.faults === 0 ? 'intact' : 'broken',
    size: head?.size ?? 0,
    head: head?.token ?? null,
    sealedAt: head === null ? null : signedAt(head.token),
    unsealed: await countUnsealed(db, tenantId, MOST_UNSEALED),
    checked: standing.checked,
    unverifiableHeads: standing.unverifiable,
    faults,
    nextCursor: done ? null : cursorAt([JSON.stringify(rest), hash]),
  };
}

type Walk = {
  tenantId: string;
  standing: Standing;
  found: Findings;
  limit: number;
  /** The position of the last link. */
  upTo: number;
  /** The size of the newest head. */
  newest: number;
};

/** Goes on from where the verification stands, up to the limit. Answers whether all is checked. */
async function goOn(
  { services }: CallerContext,
  { tenantId, standing, found, limit, upTo, newest }: Walk,
): Promise<boolean> {
  const { db } = services;
  for (let left = limit; left > 0 && found.faults.length + found.pending() < FAULTS_OF_CALL; await breathe()) {
    const chunk = Math.min(OF_CHUNK, left);
    if (!standing.linked) {
      const links = await listLinks(db, tenantId, { after: standing.position, limit: chunk });
      for (const { eventId } of links.filter((link) => !isPlaced(link))) {
        const detail = 'a link stands where the chain has no position: it was not written by the service';
        found.faults.push({ kind: 'inserted', position: null, eventId, detail });
      }
      const here = links.filter(({ position }) => position <= upTo);
      const placed = here.filter(isPlaced);
      const from = { position: Math.max(standing.position ?? 0, 0), hash: standing.hash };
      checkLinks(found, from, placed);
      await checkHeads(services, found, { tenantId, after: from.position, links: placed, newest });
      standing.position = here.at(-1)?.position ?? standing.position;
      standing.hash = placed.at(-1)?.hash ?? standing.hash;
      standing.checked += placed.length;
      left -= here.length;
      standing.linked = here.length < chunk;
    } else {
      const page = { after: standing.event, limit: chunk };
      const { beside, looked, last } = await findEventsBesideChain(db, tenantId, page);
      for (const event of beside) {
        const fault = faultOf(services, event);
        if (fault) found.faults.push({ ...fault, position: null, eventId: event.id });
      }
      if (last === null) return true;
      standing.event = last;
      left -= looked;
    }
  }
  return false;
}

/** What is wrong with an event that is in no chain; null where it waits to be sealed, as it should. */
function faultOf(
  { secrets }: Pick<Services, 'secrets'>,
  event: UnsealedEvent & { waits: boolean },
): Pick<AuditFault, 'kind' | 'detail'> | null {
  // Removed meanwhile.
  if (event.event === 'missing') return null;
  if (macKeyOf(secrets, event) === null) {
    const detail = 'the event was never sealed, and has no valid MAC: the service did not write it as it is';
    return { kind: 'forged', detail };
  }
  if (event.waits) return null;
  const detail = 'the service wrote the event; its link, or the note that it waits to be sealed, was removed';
  return { kind: 'inserted', detail };
}

/** Whose chain is meant; '' for the platform's own. */
async function chainOf({ services, reach, ...ctx }: CallerContext, named: string | null): Promise<string> {
  const everywhere = reach.some((place) => place.tenantId === null);
  if (everywhere && named === null) return '';
  const own = new Set(narrowed(reach, { tenantId: named, subTenantId: null }).map((place) => place.tenantId));
  const [tenantId] = own;
  if (tenantId == null || own.size > 1) {
    const said = { msg: 'Field required', type: 'missing', input: {} };
    throw new ValidationFailure([{ loc: ['query', 'tenant_id'], ...said }]);
  }
  if (!covers(reach, { tenantId, subTenantId: null })) {
    const detail = 'A chain is that of a whole tenant: a credential of a sub-tenant cannot verify it.';
    throw new ApiError('tenant_forbidden', detail);
  }
  if (ctx.principal.platformAdministrator && (await placeExists(services.db, { tenantId, subTenantId: null }))) {
    throw new ApiError('tenant_not_found', 'There is no such tenant.');
  }
  return tenantId;
}

function standingAt(after: readonly [string, string] | null, tenantId: string): Standing {
  if (after === null) {
    return { ...START, hash: emptyChain(tenantId) };
  }
  return { ...StandingSchema.parse(JSON.parse(after[0])), hash: after[1] };
}
