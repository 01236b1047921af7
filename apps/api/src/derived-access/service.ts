import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  type AccessKind,
  AccessKindSchema,
  type DerivedAccess,
  REVOKED_AT_ONCE,
  type RevokeDerivedAccessInput,
  type RevokedDerivedAccess,
} from '@quartermaster/contracts/derived-access.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { type AccessSource, listDerivedAccess } from '@quartermaster/db/repositories/derived-access.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { scopeMissing } from '../access/authorise.ts';
import { reachOf } from '../access/principal.ts';
import { write } from '../audit-events/write.ts';
import { valueError } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';
import { type Revoking, revokeOne, revokeSourceKey } from './revoke.ts';

const KINDS = AccessKindSchema.options;

/** What seeing and revoking each kind needs. */
const READ: Record<AccessKind, Scope> = {
  api_key: 'credentials:read',
  gateway_session: 'gateway_sessions:read',
  invitation: 'memberships:read',
  membership: 'memberships:read',
};
const WRITE: Record<AccessKind, Scope> = {
  api_key: 'credentials:write',
  gateway_session: 'gateway_sessions:write',
  invitation: 'memberships:write',
  membership: 'memberships:write',
};

export function pageOfDerivedAccess(ctx: CallerContext, name: string, page: PageRequest): Promise<Page<DerivedAccess>> {
  const { db, now } = ctx.services;
  const filter = { kinds: KINDS, withoutAdministrators: false, withoutSuccessors: false };
  return listDerivedAccess(db, scopesOf(ctx, READ), { source: sourceOf(name), filter }, page, now());
}

/** Revokes what a source gave rise to, in one transaction, and at most {@link REVOKED_AT_ONCE} records of it. */
export function revokeDerivedAccess(ctx: CallerContext, body: RevokeDerivedAccessInput): Promise<RevokedDerivedAccess> {
  const source = sourceOf(body.source);
  const kinds = KINDS.filter((kind) => body.kinds.includes(kind));
  const scopes = scopesOf(ctx, WRITE);
  for (const kind of kinds) {
    if (scopes[kind].length === 0) throw scopeMissing(WRITE[kind], `Revoking derived access of the kind ${kind}`);
  }
  if (body.includeSource && !('keyId' in source)) {
    throw valueError(['body', 'includeSource'], 'includeSource is for a source that is an API key', true);
  }
  const filter = {
    kinds,
    withoutAdministrators: !ctx.principal.platformAdministrator,
    withoutSuccessors: !body.includeSuccessors,
  };
  return write(ctx, async (trx, record, now) => {
    const writing: Revoking = { ctx, trx, record, now, scopes };
    const revoked: RevokedDerivedAccess['revoked'] = { api_key: 0, gateway_session: 0, invitation: 0, membership: 0 };
    if (body.includeSource && 'keyId' in source) {
      await revokeSourceKey(writing, source.keyId);
      revoked.api_key += 1;
    }
    // Read before anything is revoked, and page by page: what is skipped must not hide what follows.
    const found: DerivedAccess[] = [];
    let after: PageKey | null = null;
    do {
      const page: Page<DerivedAccess> = await listDerivedAccess(
        trx,
        scopes,
        { source, filter },
        { limit: REVOKED_AT_ONCE, after },
        now,
      );
      found.push(...page.items);
      after = page.next;
    } while (after !== null && found.length < LOOKED_AT);
    let skipped = 0;
    let done = 0;
    for (const access of found) {
      if (done === REVOKED_AT_ONCE) break;
      if ((done + skipped) % OF_TURN === OF_TURN - 1) await yieldToEventLoop();
      const isRevoked = await revokeOne(writing, access);
      if (isRevoked) {
        revoked[access.kind] += 1;
        done += 1;
      } else skipped += 1;
    }
    return { revoked, skipped, isComplete: after === null && done + skipped === found.length };
  });
}

/** Records that are revoked before the event loop gets a turn. */
const OF_TURN = 20;

/** Records that one call looks at: of those that it may not revoke, so many may come before the others. */
const LOOKED_AT = 2000;

function sourceOf(name: string): AccessSource {
  return name.startsWith('api_key:') ? { keyId: name.slice('api_key:'.length) } : { principal: name };
}

function scopesOf({ principal }: CallerContext, needed: Record<AccessKind, Scope>): Record<AccessKind, TenantScope> {
  return {
    api_key: reachOf(principal, needed.api_key),
    gateway_session: reachOf(principal, needed.gateway_session),
    invitation: reachOf(principal, needed.invitation),
    membership: reachOf(principal, needed.membership),
  };
}
