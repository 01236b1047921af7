import type { CreateProviderInput, Provider, UpdateProviderInput } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { folded } from '@quartermaster/db/queries.ts';
import { findGatewayOfProvider } from '@quartermaster/db/repositories/gateways.ts';
import { deleteInventory } from '@quartermaster/db/repositories/inventory.ts';
import { listSecretBindings } from '@quartermaster/db/repositories/provider-secrets.ts';
import {
  findProvider,
  insertProvider,
  type ProviderChange,
  setNextSync,
  updateProvider,
} from '@quartermaster/db/repositories/providers.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { staysWithin } from '@quartermaster/db/transaction.ts';
import { existingPlace } from '../access/places.ts';
import { type Change as AuditedChange, changedFields, write } from '../audit-events/write.ts';
import { ApiError, whenTaken } from '../errors.ts';
import { isBoundTo } from '../provider-credentials/binding.ts';
import { detachCredentials } from '../provider-credentials/detach.ts';
import { settleProvider } from '../recommendations/settle.ts';
import type { CallerContext } from '../trpc.ts';
import { rekeyModels, settleRekeyed } from './rekey.ts';

export async function createProvider(ctx: CallerContext, body: CreateProviderInput): Promise<Provider> {
  return write(ctx, async (trx, record, now) => {
    const place = await existingPlace(ctx, trx, body);
    await ctx.services.tenantLimits.add(trx, place.tenantId, 'providers');
    const { name, kind, status, displayName = null, description = null, baseUrl = null, metadata } = body;
    const { syncIntervalSeconds = null } = body;
    const aliases = body.aliases ?? [];
    const values = {
      ...{ name, aliases, kind, status, displayName, description, baseUrl, syncIntervalSeconds },
      metadata: metadata ?? {},
    };
    const provider = await insertProvider(trx, place, values, now).catch(nameTaken([name, ...aliases]));
    await schedule(ctx, trx, provider, syncIntervalSeconds);
    record({ place, target: { type: 'provider', id: provider.id }, changed: Object.keys(body) });
    return provider;
  });
}

export async function changeProvider(ctx: CallerContext, id: string, body: UpdateProviderInput): Promise<Provider> {
  return write(ctx, async (trx, record, now) => {
    const provider = await findProvider(trx, ctx.reach, id);
    if (!provider) throw notFound();
    staysWithin(trx, provider.tenantId);
    const { metadata, aliases, ...rest } = body;
    const change = {
      ...rest,
      ...(metadata !== undefined && { metadata: metadata ?? {} }),
      ...(aliases !== undefined && { aliases: aliases ?? [] }),
    } as ProviderChange;
    const changed = changedFields(provider, change);
    if (changed.length === 0) return provider;
    const updated = await updateProvider(trx, ctx.reach, id, change, now).catch(
      nameTaken([change.name ?? provider.name, ...(change.aliases ?? provider.aliases)]),
    );
    if (!updated) throw notFound();
    // A secret does not follow to another host, nor out of the path that it was stored for.
    const bindings = provider.baseUrl === updated.baseUrl ? [] : await listSecretBindings(trx, scopeOf(updated), id);
    if (bindings.some((boundUrl) => !isBoundTo(boundUrl, updated.baseUrl))) {
      await detachCredentials(trx, record, updated, now);
    }
    const isRenamed = folded(provider.name) !== folded(updated.name);
    const rekeyed = isRenamed ? await rekeyModels(trx, { provider: updated, formerName: provider.name }, now) : null;
    // Manifests name it, names of models begin with its names, and risk depends on where it is and whether it is declared.
    if (['name', 'aliases', 'status', 'baseUrl'].some((field) => changed.includes(field)))
      await settleProvider(trx, updated, now);
    await schedule(ctx, trx, updated, body.syncIntervalSeconds);
    record({ place: updated, target: { type: 'provider', id }, changed });
    if (rekeyed) await settleRekeyed(trx, record, { provider: updated, rekeyed }, now);
    return updated;
  });
}

export async function deleteProvider(ctx: CallerContext, id: string): Promise<Provider> {
  return write(ctx, async (trx, record, now) => {
    const provider = await findProvider(trx, ctx.reach, id);
    if (!provider) throw notFound();
    staysWithin(trx, provider.tenantId);
    const gateway = await findGatewayOfProvider(trx, ctx.reach, id);
    if (gateway) throw new ApiError('provider_in_use', `The gateway ${gateway.id} lists this provider.`);
    return endProvider(trx, record, provider, now);
  });
}

/** Sets when a provider whose interval was set is synced first, by the clock that all processes share. */
async function schedule(
  { services }: CallerContext,
  trx: Database,
  provider: Provider,
  intervalSeconds: number | null | undefined,
): Promise<void> {
  if (intervalSeconds == null) return;
  const first = (await services.databaseNow(trx)).getTime() + intervalSeconds * 1000;
  await setNextSync(trx, scopeOf(provider), provider.id, new Date(first));
}

/** Deletes a provider that no gateway lists, with all that it has; within the transaction that found it so. */
async function endProvider(
  trx: Database,
  record: (change: AuditedChange) => void,
  provider: Provider,
  now: Date,
): Promise<Provider> {
  const { id } = provider;
  const scope = scopeOf(provider);
  await deleteInventory(trx, scope, id);
  const deleted = await updateProvider(trx, scope, id, { status: 'deleted' }, now);
  if (!deleted) throw notFound();
  await detachCredentials(trx, record, deleted, now);
  await settleProvider(trx, deleted, now);
  record({ place: deleted, target: { type: 'provider', id }, changed: ['status'] });
  return deleted;
}

/** The provider that a path names. @throws 404 */
export async function requireProvider(ctx: CallerContext, id: string): Promise<Provider> {
  const provider = await findProvider(ctx.services.db, ctx.reach, id);
  if (!provider) throw notFound();
  return provider;
}

export function notFound(): ApiError {
  return new ApiError('provider_not_found', 'No provider of this id in your reach.');
}

/** @param names the provider's own, then its aliases */
function nameTaken(names: readonly string[]): (error: unknown) => never {
  const named = names.map((name) => JSON.stringify(name)).join(' or ');
  return whenTaken('name_taken', `A provider named ${named} exists here, perhaps a discovered one.`);
}
