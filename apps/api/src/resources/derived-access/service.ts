import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  type AccessKind,
  AccessKindSchema,
  type DerivedAccess,
  type DerivedAccessReference,
  MAX_REVOKED_PER_CALL,
  type RevokeDerivedAccessInput,
  type RevokedDerivedAccess,
} from '@quartermaster/contracts/derived-access.ts';
import { ROLE_SCOPES, type Scope } from '@quartermaster/contracts/scopes.ts';
import { type AccessSource, findDerivation, listDerivedAccess } from '@quartermaster/db/repositories/derived-access.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import { scopeMissing } from '../../auth/authorize.ts';
import { idleSince } from '../../auth/console-sessions.ts';
import { reachOf, reachOfAll } from '../../auth/principal.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { valueError } from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';
import { type Revocation, revokeOne, revokeSourceKey } from './revoke.ts';

const KINDS = AccessKindSchema.options;

/** Records that are revoked before the event loop gets a turn. */
const BATCH_SIZE = 20;

/** Records that one call reads. It may not revoke the last owner of a tenant, so it is more than it revokes. */
const MAX_READ = 2000;

/** The records of these kinds whose role the caller does not hold are counted, and not read with the others. */
const KINDS_WITH_ROLE: readonly AccessKind[] = ['invitation', 'membership'];

/** The scopes that seeing and revoking each kind need. */
const READ: Record<AccessKind, Scope> = {
  api_key: 'credentials:read',
  gateway_session: 'gateway_sessions:read',
  invitation: 'memberships:read',
  membership: 'memberships:read',
  console_session: 'users:read',
  platform_administrator: 'users:read',
};
const WRITE: Record<AccessKind, Scope> = {
  api_key: 'credentials:write',
  gateway_session: 'gateway_sessions:write',
  invitation: 'memberships:write',
  membership: 'memberships:write',
  console_session: 'users:write',
  platform_administrator: 'users:write',
};

export async function pageOfDerivedAccess(
  ctx: CallerContext,
  name: string,
  page: PageRequest,
): Promise<Page<DerivedAccess>> {
  const { db, now } = ctx.services;
  const filter = {
    kinds: KINDS,
    withoutAdministrators: false,
    withoutSuccessors: false,
    records: null,
    consoleSessionsUsedAfter: idleSince(now()),
  };
  const scopes = scopesOf(ctx, READ);
  const derivation = await findDerivation(db, scopes.api_key, sourceOf(name), filter);
  return listDerivedAccess(db, scopes, { derivation, filter }, page, now());
}

/** Revokes the access that a source created: at most {@link MAX_REVOKED_PER_CALL} records, in one transaction. */
export function revokeDerivedAccess(ctx: CallerContext, body: RevokeDerivedAccessInput): Promise<RevokedDerivedAccess> {
  const source = sourceOf(body.source);
  const kinds = KINDS.filter((kind) => body.kinds.includes(kind));
  const scopes = scopesOf(ctx, WRITE);
  for (const kind of kinds) {
    if (scopes[kind].length === 0) throw scopeMissing(WRITE[kind], `Revoking derived access of the kind ${kind}`);
  }
  if (body.includeSource && !('keyId' in source)) {
    throw valueError(['body', 'includeSource'], 'includeSource should only be true if the source is an API key', true);
  }
  const filter = {
    kinds,
    withoutAdministrators: !ctx.principal.platformAdministrator,
    withoutSuccessors: !body.includeSuccessors,
    records: body.records?.map(recordOf) ?? null,
    consoleSessionsUsedAfter: idleSince(ctx.services.now()),
  };
  const heldAt = {
    owner: reachOfAll(ctx.principal, ROLE_SCOPES.owner),
    admin: reachOfAll(ctx.principal, ROLE_SCOPES.admin),
    operator: reachOfAll(ctx.principal, ROLE_SCOPES.operator),
    viewer: reachOfAll(ctx.principal, ROLE_SCOPES.viewer),
  };
  const revocable = { ...filter, roles: { heldAt, areHeld: true } };
  const beyondRoles = {
    ...filter,
    kinds: kinds.filter((kind) => KINDS_WITH_ROLE.includes(kind)),
    roles: { heldAt, areHeld: false },
  };
  return auditedWrite(ctx, async (trx, record, now) => {
    const revocation: Revocation = { ctx, trx, record, now, scopes };
    const revoked: RevokedDerivedAccess['revoked'] = {
      api_key: 0,
      gateway_session: 0,
      invitation: 0,
      membership: 0,
      console_session: 0,
      platform_administrator: 0,
    };
    if (body.includeSource && 'keyId' in source) {
      if (await revokeSourceKey(revocation, source.keyId)) revoked.api_key += 1;
    }
    const derivation = await findDerivation(trx, scopes.api_key, source, filter);
    // Read before anything is revoked, and over several pages, so that skipped records do not hide those after them.
    const found: DerivedAccess[] = [];
    let after: PageKey | null = null;
    do {
      const page: Page<DerivedAccess> = await listDerivedAccess(
        trx,
        scopes,
        { derivation, filter: revocable },
        { limit: MAX_REVOKED_PER_CALL, after },
        now,
      );
      found.push(...page.items);
      after = page.next;
    } while (after !== null && found.length < MAX_READ);
    const counted = { limit: MAX_READ, after: null };
    const { items: exceeding } = await listDerivedAccess(
      trx,
      scopes,
      { derivation, filter: beyondRoles },
      counted,
      now,
    );
    let refused = 0;
    let done = 0;
    for (const access of found) {
      if (done === MAX_REVOKED_PER_CALL) break;
      if ((done + refused) % BATCH_SIZE === BATCH_SIZE - 1) await yieldToEventLoop();
      const isRevoked = await revokeOne(revocation, access);
      if (isRevoked) {
        revoked[access.kind] += 1;
        done += 1;
      } else refused += 1;
    }
    const isComplete = derivation.isWhole && after === null && done + refused === found.length;
    return { revoked, skipped: exceeding.length + refused, isComplete };
  });
}

function recordOf({ kind, id, tenantId = null, subTenantId = null }: DerivedAccessReference) {
  return { kind, id, tenantId, subTenantId };
}

function sourceOf(name: string): AccessSource {
  return name.startsWith('api_key:') ? { keyId: name.slice('api_key:'.length) } : { principal: name };
}

function scopesOf({ principal }: CallerContext, needed: Record<AccessKind, Scope>): Record<AccessKind, TenantScope> {
  return {
    api_key: reachOf(principal, needed.api_key),
    gateway_session: reachOf(principal, needed.gateway_session),
    invitation: reachOf(principal, needed.invitation),
    membership: reachOf(principal, needed.membership),
    console_session: reachOf(principal, needed.console_session),
    platform_administrator: reachOf(principal, needed.platform_administrator),
  };
}
