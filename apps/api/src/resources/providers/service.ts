import type { CreateProviderInput, Provider, UpdateProviderInput } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { findGatewayOfProvider } from '@quartermaster/db/repositories/gateways.ts';
import { deleteInventory } from '@quartermaster/db/repositories/inventory.ts';
import { listSecretBindings } from '@quartermaster/db/repositories/provider-secrets.ts';
import {
  areMoreProvidersThan,
  listSortedProviders,
  type ProviderOrder,
} from '@quartermaster/db/repositories/provider-orders.ts';
import {
  findProvider,
  insertProvider,
  listProviders,
  type ProviderChange,
  type ProviderFilter,
  setNextSync,
  updateProvider,
} from '@quartermaster/db/repositories/providers.ts';
import type { Page, PageRequest } from '@quartermaster/db/queries.ts';
import { scopeOf, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { confineToTenant } from '@quartermaster/db/transaction.ts';
import { existingPlace } from '../../auth/places.ts';
import { type AuditedChange, changedFields, auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, notFound, requireFound, duplicateKeyAs, valueError } from '../../platform/errors.ts';
import { isBoundTo } from '../../platform/outbound/credential-binding.ts';
import { detachCredentials } from './detach-credentials.ts';
import { reevaluateProvider } from '../../governance/observations/reevaluate.ts';
import { revokeSessionsOfChangedProvider } from '../../governance/observations/revoke-sessions.ts';
import type { CallerContext } from '../../auth/context.ts';
import { modelRenamer, rekeyModels } from '../../governance/renaming/rekey.ts';
import { reconcileSubjects } from '../../governance/rules/reconcile.ts';

/** All providers in reach are read to sort them by another order than that of creation. */
const MAX_SORTED = 20_000;

/** One page of providers. @throws 422 if there are too many to sort */
export async function listInOrder(
  { services: { db } }: CallerContext,
  scope: TenantScope,
  { sort, ...filter }: ProviderFilter & { sort: 'created_at' | ProviderOrder },
  page: PageRequest,
): Promise<Page<Provider>> {
  if (sort === 'created_at') return listProviders(db, scope, filter, page);
  if (await areMoreProvidersThan(db, scope, MAX_SORTED))
    throw valueError(['query', 'sort'], `there are more than ${MAX_SORTED} providers in reach: name a tenant`);
  return listSortedProviders(db, scope, { ...filter, order: sort }, page);
}

export async function createProvider(ctx: CallerContext, body: CreateProviderInput): Promise<Provider> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const place = await existingPlace(ctx, trx, body);
    await ctx.services.tenantLimits.addRecord(trx, place.tenantId, { resource: 'providers', content: body });
    const { name, kind, status, displayName = null, description = null, baseUrl = null, metadata } = body;
    const { syncIntervalSeconds = null, newItems = 'review' } = body;
    const aliases = body.aliases ?? [];
    const headers = body.headers ?? [];
    const values = {
      name,
      aliases,
      kind,
      status,
      displayName,
      description,
      baseUrl,
      syncIntervalSeconds,
      newItems,
      headers,
      metadata: metadata ?? {},
    };
    const provider = await insertProvider(trx, place, values, now).catch(nameTaken([name, ...aliases]));
    await scheduleFirstSync(ctx, trx, provider, syncIntervalSeconds);
    record({
      place,
      target: { type: 'provider', id: provider.id },
      changed: { fields: Object.keys(body), before: null, after: provider },
    });
    return provider;
  });
}

export async function changeProvider(ctx: CallerContext, id: string, body: UpdateProviderInput): Promise<Provider> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const provider = await requireProvider(ctx, trx, id);
    confineToTenant(trx, provider.tenantId);
    const { change, changed, renamed, affects, refuseTaken } = decideChange(provider, body);
    if (changed.length === 0) return provider;
    await ctx.services.tenantLimits.changeRecord(trx, provider.tenantId, { before: provider, change, changed });
    const updated = await updateProvider(trx, ctx.reach, id, change, now).catch(refuseTaken);
    if (!updated) throw notFound('provider_not_found');
    await scheduleFirstSync(ctx, trx, updated, body.syncIntervalSeconds);
    // A secret is sent only to the address that it was stored for. If one does not fit the new base URL, all are removed.
    const bindings = provider.baseUrl === updated.baseUrl ? [] : await listSecretBindings(trx, scopeOf(updated), id);
    if (bindings.some((boundUrl) => !isBoundTo(boundUrl, updated.baseUrl))) {
      await detachCredentials(trx, record, { provider: updated }, now);
    }
    const rekeyed = renamed && (await rekeyModels(trx, updated, renamed, now));
    if (affects.observations) await reevaluateProvider(trx, updated, now);
    record({
      place: updated,
      target: { type: 'provider', id },
      changed: { fields: changed, before: provider, after: updated },
    });
    if (rekeyed) {
      await reconcileSubjects(
        trx,
        updated,
        rekeyed.map((subject) => ({ provider: updated, ...subject })),
        now,
      );
    }
    if (affects.blocks) await revokeSessionsOfChangedProvider(trx, record, updated, now);
    return updated;
  });
}

/** What an update changes, and what has to be done because of it. */
function decideChange(provider: Provider, { metadata, aliases, headers, mcp, ...rest }: UpdateProviderInput) {
  const change = {
    ...rest,
    ...(metadata !== undefined && { metadata: metadata ?? {} }),
    ...(aliases !== undefined && { aliases: aliases ?? [] }),
    ...(headers !== undefined && { headers: headers ?? [] }),
    ...mcpChange(provider, { mcp, ...rest }),
  } as ProviderChange;
  const changed = changedFields(provider, change);
  const changesOneOf = (...fields: (keyof ProviderChange)[]) => fields.some((field) => changed.includes(field));
  const name = change.name ?? provider.name;
  const isRenamed = caseFolded(provider.name) !== caseFolded(name);
  return {
    change,
    changed,
    refuseTaken: nameTaken([name, ...(change.aliases ?? provider.aliases)]),
    renamed: isRenamed ? modelRenamer({ formerName: provider.name, name }) : null,
    affects: {
      // These fields decide which manifests name the provider, how model names are read, and the risk of its observations.
      observations: changesOneOf('name', 'aliases', 'status', 'baseUrl'),
      // These fields decide which names of models a block covers, and which providers of sub-tenants declare this one again.
      blocks: changesOneOf('name', 'aliases', 'kind', 'status', 'baseUrl'),
    },
  };
}

/** What was found out about a server, or said of it, holds for that server alone: at its address, as an MCP server. */
function mcpChange(provider: Provider, { mcp, baseUrl, kind }: UpdateProviderInput): Pick<ProviderChange, 'mcp'> {
  const isOther =
    (baseUrl !== undefined && baseUrl !== provider.baseUrl) || (kind !== undefined && kind !== provider.kind);
  if (mcp === undefined) return isOther ? { mcp: null } : {};
  if (mcp === null) return { mcp };
  const { checkedAt = null, protocolVersions = [] } = (isOther ? null : provider.mcp) ?? {};
  return { mcp: { ...mcp, checkedAt, protocolVersions } };
}

export async function deleteProvider(ctx: CallerContext, id: string): Promise<Provider> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const provider = await requireProvider(ctx, trx, id);
    confineToTenant(trx, provider.tenantId);
    const gateway = await findGatewayOfProvider(trx, ctx.reach, id);
    if (gateway) throw new ApiError('provider_in_use', `The gateway ${gateway.id} lists this provider.`);
    return markDeleted(trx, record, provider, now);
  });
}

/** Schedules the first sync after the interval was set. Uses the database's clock, which all processes share. */
async function scheduleFirstSync(
  { services }: CallerContext,
  trx: Database,
  provider: Provider,
  intervalSeconds: number | null | undefined,
): Promise<void> {
  if (intervalSeconds == null) return;
  const first = (await services.databaseNow(trx)).getTime() + intervalSeconds * 1000;
  await setNextSync(trx, scopeOf(provider), provider.id, new Date(first));
}

/** Deletes a provider with its inventory and credentials. The caller has checked, in this transaction, that no gateway lists it. */
async function markDeleted(
  trx: Database,
  record: (change: AuditedChange) => void,
  provider: Provider,
  now: Date,
): Promise<Provider> {
  const { id } = provider;
  const scope = scopeOf(provider);
  await deleteInventory(trx, scope, id);
  const deleted = requireFound(await updateProvider(trx, scope, id, { status: 'deleted' }, now), 'provider_not_found');
  await detachCredentials(trx, record, { provider: deleted }, now);
  await reevaluateProvider(trx, deleted, now);
  record({
    place: deleted,
    target: { type: 'provider', id },
    changed: { fields: ['status'], before: provider, after: deleted },
  });
  await revokeSessionsOfChangedProvider(trx, record, deleted, now);
  return deleted;
}

/** The provider that a path names. @throws 404 */
export async function requireProvider({ reach }: CallerContext, db: Database, id: string): Promise<Provider> {
  return requireFound(await findProvider(db, reach, id), 'provider_not_found');
}

/** Turns a duplicate key into 409 `name_taken`. @param names the name of the provider, and its aliases */
function nameTaken(names: readonly string[]): (error: unknown) => never {
  const named = names.map((name) => JSON.stringify(name)).join(' or ');
  return duplicateKeyAs(
    'name_taken',
    `A provider named ${named} already exists in this tenant and sub-tenant. It may be a discovered one.`,
  );
}
