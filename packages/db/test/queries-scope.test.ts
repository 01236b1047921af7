import { expect, expectTypeOf, test } from 'vitest';
import type { Database } from '../src/database.ts';
import type * as agentChannels from '../src/repositories/agent-channels.ts';
import type * as agents from '../src/repositories/agents.ts';
import type * as apiKeys from '../src/repositories/api-keys.ts';
import type * as auditEvents from '../src/repositories/audit-events.ts';
import type * as credentialExpiry from '../src/repositories/credential-expiry.ts';
import type * as credentials from '../src/repositories/credentials.ts';
import type * as discoveredProviders from '../src/repositories/discovered-providers.ts';
import type * as emptiedProviders from '../src/repositories/emptied-providers.ts';
import type * as founders from '../src/repositories/founders.ts';
import type * as gatewaySessions from '../src/repositories/gateway-sessions.ts';
import type * as gateways from '../src/repositories/gateways.ts';
import type * as grantedItems from '../src/repositories/granted-items.ts';
import type * as inventory from '../src/repositories/inventory.ts';
import type * as inventorySync from '../src/repositories/inventory-sync.ts';
import type * as manifestDeclarations from '../src/repositories/manifest-declarations.ts';
import type * as manifestDenials from '../src/repositories/manifest-denials.ts';
import type * as manifests from '../src/repositories/manifests.ts';
import type * as memberships from '../src/repositories/memberships.ts';
import type * as nameKeys from '../src/repositories/name-keys.ts';
import type * as observationLists from '../src/repositories/observation-lists.ts';
import type * as operatorTasks from '../src/repositories/operator-tasks.ts';
import type * as providerSecrets from '../src/repositories/provider-secrets.ts';
import type * as providerUses from '../src/repositories/provider-uses.ts';
import type * as providers from '../src/repositories/providers.ts';
import { findProvider, listProviders, updateProvider } from '../src/repositories/providers.ts';
import type * as recommendationStates from '../src/repositories/recommendation-states.ts';
import type * as recommendations from '../src/repositories/recommendations.ts';
import type * as runtimeObservations from '../src/repositories/runtime-observations.ts';
import type * as sealedSecrets from '../src/repositories/sealed-secrets.ts';
import type * as seenObservations from '../src/repositories/seen-observations.ts';
import type * as serviceAccounts from '../src/repositories/service-accounts.ts';
import { searchServiceAccounts } from '../src/repositories/service-accounts.ts';
import type * as openRecommendations from '../src/repositories/open-recommendations.ts';
import type * as telemetryCalls from '../src/repositories/telemetry-calls.ts';
import type * as tenants from '../src/repositories/tenants.ts';
import type * as traceRetention from '../src/repositories/trace-retention.ts';
import type * as traces from '../src/repositories/traces.ts';
import { listSpans } from '../src/repositories/spans.ts';
import type * as usageRollups from '../src/repositories/usage-rollups.ts';
import type * as usageSeries from '../src/repositories/usage-series.ts';
import type * as users from '../src/repositories/users.ts';
import { findUser } from '../src/repositories/users.ts';
import { EVERYWHERE, type TenantScope } from '../src/tenancy.ts';
import { NOW } from './temporary-database.ts';

/** Whether an argument limits the tenants: a scope, a view with a scope, or a place. */
type Narrows<Argument> = TenantScope extends Argument
  ? true
  : Argument extends { scope: TenantScope } | { tenantId: string | null }
    ? true
    : false;

/** The names of a module's database functions whose arguments do not limit the tenants. */
type Unnarrowed<Module> = {
  [Name in keyof Module]: Module[Name] extends (db: Database, ...rest: infer Rest) => unknown
    ? Rest extends [infer First, ...unknown[]]
      ? Narrows<First> extends true
        ? never
        : Name
      : Name
    : never;
}[keyof Module];

test('functions on tenant data take a scope or a place, except those listed here', () => {
  expectTypeOf<Unnarrowed<typeof agents>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof agentChannels>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof observationLists>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof gatewaySessions>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof gateways>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof grantedItems>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof credentialExpiry>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof emptiedProviders>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof inventory>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof inventorySync>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof manifestDeclarations>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof manifestDenials>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof manifests>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof nameKeys>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof operatorTasks>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof providers>>().toBeNever();
  // For rows that were found with a scope.
  expectTypeOf<Unnarrowed<typeof recommendations>>().toEqualTypeOf<'withObservationIds'>();
  expectTypeOf<Unnarrowed<typeof recommendationStates>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof traces>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof traceRetention>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof telemetryCalls>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof usageRollups>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof usageSeries>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof discoveredProviders>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof providerUses>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof seenObservations>>().toBeNever();
  expectTypeOf<Unnarrowed<typeof openRecommendations>>().toBeNever();
  // Each event contains its own place.
  expectTypeOf<Unnarrowed<typeof auditEvents>>().toEqualTypeOf<'insertAuditEvents'>();
  // Authentication runs before there is a scope.
  expectTypeOf<Unnarrowed<typeof apiKeys>>().toEqualTypeOf<'findApiKey' | 'forgetApiKeys' | 'touchApiKey'>();
  expectTypeOf<Unnarrowed<typeof credentials>>().toBeNever();
  // Housekeeping of the whole service: expired records, and changes of keys.
  expectTypeOf<Unnarrowed<typeof providerSecrets>>().toEqualTypeOf<'eraseFormerSecrets'>();
  expectTypeOf<Unnarrowed<typeof sealedSecrets>>().toEqualTypeOf<'listSealedSecrets'>();
  // For the whole service: whether there is any.
  expectTypeOf<Unnarrowed<typeof serviceAccounts>>().toEqualTypeOf<'hasPlatformAdministrator'>();
  // A deleted user leaves all tenants.
  expectTypeOf<Unnarrowed<typeof memberships>>().toEqualTypeOf<'deleteMembershipsOfUser'>();
  // These name one tenant, or are called by the service itself for all tenants.
  expectTypeOf<Unnarrowed<typeof runtimeObservations>>().toEqualTypeOf<never>();
  expectTypeOf<Unnarrowed<typeof founders>>().toEqualTypeOf<'hasFoundedTenant' | 'markFounder' | 'listFounderMarks'>();
  expectTypeOf<Unnarrowed<typeof tenants>>().toEqualTypeOf<
    | 'insertTenant'
    | 'findTenantSettings'
    | 'listSpanRetentions'
    | 'listRecordRetentions'
    | 'listUsageRetentions'
    | 'listTenantsThatAuditReads'
  >();
  // Users belong to no tenant. findUser and listUsers limit which users a caller sees.
  expectTypeOf<Exclude<Unnarrowed<typeof users>, 'findUser' | 'listUsers'>>().toEqualTypeOf<
    | 'findAccount'
    | 'findAccountByEmail'
    | 'insertUser'
    | 'updateUser'
    | 'discardRegistration'
    | 'eraseUser'
    | 'touchUser'
    | 'deleteUnclaimedUsers'
    | 'setPlatformAdministrator'
    | 'hasOtherPlatformAdministrator'
  >();
  expectTypeOf<'findUser' | 'listUsers'>().not.toExtend<Unnarrowed<typeof users>>();
});

test('a query without a scope does not compile', () => {
  const page = { limit: 1, after: null };
  const checkedOnly = (db: Database) => [
    // @ts-expect-error no scope
    findProvider(db, 'prov_1'),
    // @ts-expect-error undefined is no scope
    findProvider(db, undefined, 'prov_1'),
    // @ts-expect-error a tenant's id is no scope
    findProvider(db, 'acme', 'prov_1'),
    // @ts-expect-error a scope says which sub-tenants
    findProvider(db, [{ tenantId: 'acme' }], 'prov_1'),
    // @ts-expect-error no scope
    listProviders(db, {}, page),
    // @ts-expect-error no scope
    updateProvider(db, 'prov_1', { displayName: 'x' }, NOW),
    // @ts-expect-error no scope
    searchServiceAccounts(db, {}, page, NOW),
    // @ts-expect-error no scope
    listSpans(db, 'trace', page),
    // @ts-expect-error no scope
    findUser(db, 'usr_1'),
    findProvider(db, EVERYWHERE, 'prov_1'),
  ];
  expect(checkedOnly).toBeInstanceOf(Function);
});
