import { CompiledQuery, createQueryId, type KyselyPlugin, type RootOperationNode } from 'kysely';
import { expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { findActiveTimes, findSeriesOfAgents } from '../src/repositories/agents.ts';
import { listNewestHeads } from '../src/repositories/audit-chain.ts';
import { listAuditEvents } from '../src/repositories/audit-events.ts';
import { findConsoleSessionByToken, listConsoleSessions } from '../src/repositories/console-sessions.ts';
import {
  countExpiring,
  listCredentialsWithObsoleteTask,
  listExpiringCredentials,
  searchCredentialsByExpiry,
} from '../src/repositories/credential-expiry.ts';
import { countOpenSessions, insertGatewaySession, listGatewaySessions } from '../src/repositories/gateway-sessions.ts';
import { insertGateway } from '../src/repositories/gateways.ts';
import {
  findBlockedItems,
  findBlocksAndExceptions,
  findDecisiveItems,
  findInventoryItemsByKeys,
  findItemNamesOfFamilies,
  findItemsOfSmallFamilies,
  listInventory,
  listInventoryItems,
} from '../src/repositories/inventory.ts';
import { manifestDeclarations } from '../src/repositories/manifest-declarations.ts';
import { insertManifest, storeDeclarations } from '../src/repositories/manifests.ts';
import { listMemberships } from '../src/repositories/memberships.ts';
import { findLastOperatorTask, finishOperatorTasks, openOperatorTasks } from '../src/repositories/operator-tasks.ts';
import { selectObservations, selectSortedObservations } from '../src/repositories/observation-lists.ts';
import { findDerivation, listDerivedAccess } from '../src/repositories/derived-access.ts';
import { findEmptiedProviders } from '../src/repositories/emptied-providers.ts';
import { eraseFormerSecrets } from '../src/repositories/provider-secrets.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { findOfferedItems, findProvidersOfTraffic } from '../src/repositories/providers-of-traffic.ts';
import { supersedeRecommendationsOfProvider } from '../src/repositories/recommendation-states.ts';
import { deleteEndedSessions, deleteFinishedTasks } from '../src/repositories/record-retention.ts';
import {
  findOpenRecommendations,
  findOpenRecommendationsOfSubject,
  findOpenRecommendationsOfSubjects,
  findRecommendation,
  findUnapprovedRecommendations,
  listRecommendations,
  listRecommendationsOfAll,
} from '../src/repositories/recommendations.ts';
import { findObservationsOfAnyProvider } from '../src/repositories/runtime-observations.ts';
import { type ObservationState, updateObservationStates } from '../src/repositories/seen-observations.ts';
import { revokeSessionsOfItems } from '../src/repositories/sessions-of-items.ts';
import { insertRecommendations } from '../src/repositories/open-recommendations.ts';
import { listTraces } from '../src/repositories/traces.ts';
import { areMoreProvidersThan, listSortedProviders } from '../src/repositories/provider-orders.ts';
import { findUser, listUsers } from '../src/repositories/users.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const ACME_EU = { tenantId: 'acme', subTenantId: 'eu' };
const PAGE_KEY = [NOW.toISOString(), 'x'] as const;
const PAGE = { limit: 25, after: PAGE_KEY };
const PROVIDER = { id: 'prov_1', name: 'openai' };
const SUBJECT = {
  ...ACME,
  provider: { ...PROVIDER, aliases: [] as string[], baseUrl: null, subTenantId: null },
  providerId: 'prov_1',
  kind: 'model',
  nameKey: 'gpt-5',
  nameFamily: 'gpt-5',
} as const;
const TASK = { kind: 'review_observation', subject: { type: 'runtime_observation', id: 'obs_1' } } as const;
const MODES = { enforcement: 'observe', mcpProxy: 'off' } as const;
const MODEL = { kind: 'model', name: 'gpt-5' } as const;
const SESSIONS_OF = { providerId: 'prov_1', providerName: 'openai', items: [MODEL] };
const OPEN_TASK = { ...TASK, subTenantId: null, title: 'Review it', priority: 'normal' } as const;
const STATE: ObservationState = {
  id: 'obs_1',
  unknown: true,
  status: 'open',
  inventoryItemId: null,
  drift: null,
  risk: { level: 'low', factors: [] },
  isReviewObsolete: false,
};
const TASKS = { kind: 'review_observation', subjectType: 'runtime_observation' } as const;

/** An item's provider says when the item was last seen. */
const OF_PROVIDER = 'providers (tenant_id=? AND id=?)';
const INVENTORY_PAGE = 'inventory_items_by_time (tenant_id=? AND provider_id=? AND (created_at,id)<(?,?))';

/**
 * Each query reads few rows of large tables. Each step of its plan must be a search by the intended index, and no step may sort.
 */
test.each<[string, (db: Database) => Promise<unknown>, string[]]>([
  [
    'the observations of names at any provider',
    (db) => findObservationsOfAnyProvider(db, ACME, [{ kind: 'model', nameFamily: 'gpt-5' }]),
    [
      'providers (tenant_id=?)',
      'runtime_observations_by_family (tenant_id=? AND provider_id=? AND kind=? AND name_family=?)',
    ],
  ],
  [
    'the last task about a subject',
    (db) => findLastOperatorTask(db, [ACME], TASK, NOW),
    ['operator_tasks_by_subject (tenant_id=? AND kind=? AND subject_type=? AND subject_id=?)'],
  ],
  [
    'whether tasks about subjects are unfinished',
    (db) => openOperatorTasks(db, ACME, { ...TASKS, tasks: [OPEN_TASK] }, NOW),
    ['operator_tasks_unfinished (tenant_id=? AND kind=? AND subject_type=? AND subject_id=?)'],
  ],
  [
    'the unfinished tasks about subjects',
    (db) => finishOperatorTasks(db, ACME, { ...TASKS, subjectIds: ['obs_1', 'obs_2'] }, 'cancelled', NOW),
    ['operator_tasks_unfinished (tenant_id=? AND kind=? AND subject_type=? AND subject_id=?)'],
  ],
  [
    'credentials with an obsolete rotation task, over all tenants',
    (db) => listCredentialsWithObsoleteTask(db, EVERYWHERE, 100),
    ['operator_tasks_rotations (kind=?)', 'credentials (tenant_id=? AND id=?)'],
  ],
  [
    'credentials that expire soon, over all tenants',
    (db) => listExpiringCredentials(db, EVERYWHERE, { before: NOW, limit: 100 }, NOW),
    [
      'credentials_by_expiry (expires_at>? AND expires_at<?)',
      'operator_tasks_by_subject (tenant_id=? AND kind=? AND subject_type=? AND subject_id=?)',
      // What people call their owners.
      'service_accounts (tenant_id=? AND id=?)',
      'providers (tenant_id=? AND id=?)',
    ],
  ],
  [
    'credentials of a tenant by expiry',
    (db) => searchCredentialsByExpiry(db, [ACME], {}, { limit: 100, after: null }, NOW),
    ['credentials_by_tenant_expiry (tenant_id=? AND expires_at>?)'],
  ],
  [
    'the number of credentials of a tenant that expire',
    (db) => countExpiring(db, [ACME], { before: NOW.toISOString(), limit: 100 }, NOW),
    // The inner query is listed on its own as well.
    [
      ...Array<string>(2).fill('credentials_by_tenant_expiry (tenant_id=? AND expires_at>? AND expires_at<?)'),
      'SCAN expiring',
    ],
  ],
  ['former secrets', (db) => eraseFormerSecrets(db, NOW.toISOString()), ['credentials_former (revoked_at<?)']],
  [
    'providers with tools of some names',
    (db) => findOfferedItems(db, ACME, { kind: 'tool', families: ['search', 'read'] }),
    ['inventory_items_of_family (tenant_id=? AND kind=? AND name_family=?)', 'providers (tenant_id=? AND id=?)'],
  ],
  [
    'items by the families of their names',
    (db) => findItemsOfSmallFamilies(db, ACME, [SUBJECT]),
    ['inventory_items_by_family (tenant_id=? AND provider_id=? AND kind=? AND name_family=?)', OF_PROVIDER],
  ],
  [
    'items by the keys of their names',
    (db) => findInventoryItemsByKeys(db, ACME, [SUBJECT]),
    ['inventory_items_by_name_key (tenant_id=? AND provider_id=? AND kind=? AND name_key=?)', OF_PROVIDER],
  ],
  [
    'items that can block or allow others, by the families of their names',
    (db) => findDecisiveItems(db, ACME, [SUBJECT]),
    ['inventory_items_by_family (tenant_id=? AND provider_id=? AND kind=? AND name_family=?)', OF_PROVIDER],
  ],
  [
    'the names of items by their families',
    (db) => findItemNamesOfFamilies(db, ACME, [SUBJECT]),
    ['inventory_items_by_family (tenant_id=? AND provider_id=? AND kind=? AND name_family=?)'],
  ],
  [
    'the blocked items of a provider',
    (db) => findBlockedItems(db, ACME, 'prov_1'),
    ['inventory_items_blocked (tenant_id=? AND provider_id=?)'],
  ],
  [
    'what the blocks of providers cover',
    (db) => findBlocksAndExceptions(db, ACME, ['prov_1']),
    [
      'inventory_items_blocked (tenant_id=? AND provider_id=?)',
      'SCAN blocked',
      'SCAN family',
      'inventory_items_by_family (tenant_id=? AND provider_id=? AND kind=? AND name_family=?)',
    ],
  ],
  [
    'manifests that declare some names',
    async (db) => {
      const made = { name: 'a', kind: 'agent', version: 1, digest: '', spec: {}, createdBy: 'user:usr_1' } as const;
      const manifest = await insertManifest(db, ACME, made, NOW);
      const declared = { provider: 'openai', kind: 'model', name: 'gpt-5' } as const;
      await storeDeclarations(db, manifest, { added: [declared], removed: [] });
      await manifestDeclarations(db, ACME, [SUBJECT, { ...SUBJECT, kind: 'agent', nameKey: 'a' }]);
    },
    [
      'SCAN called',
      'manifest_declarations_by_family (tenant_id=? AND provider_key=?)',
      'manifest_declarations_by_family (tenant_id=? AND provider_key=? AND kind=? AND name_family=?)',
      'manifests_by_version (tenant_id=? AND sub_tenant_id=? AND kind=? AND name=?)',
    ],
  ],
  [
    'declarations that a version no longer contains, and those that it takes over',
    async (db) => {
      const made = { name: 'a', kind: 'agent', version: 1, digest: '', spec: {}, createdBy: 'user:usr_1' } as const;
      const before = await insertManifest(db, ACME, made, NOW);
      const manifest = await insertManifest(db, ACME, { ...made, version: 2 }, NOW);
      const former = { provider: 'openai', kind: 'model', name: 'gpt-5' } as const;
      await storeDeclarations(db, manifest, { added: [], removed: [former] }, before);
    },
    [
      'manifest_declarations (tenant_id=? AND provider_key=? AND kind=? AND name=? AND manifest_id=?)',
      'manifest_declarations_by_manifest (tenant_id=? AND manifest_id=?)',
    ],
  ],
  [
    'observations of some ids',
    (db) => updateObservationStates(db, ACME, [STATE, { ...STATE, id: 'obs_2' }], NOW),
    ['SCAN state', 'runtime_observations (tenant_id=? AND id=?)'],
  ],
  [
    'the open recommendations of a provider',
    (db) => supersedeRecommendationsOfProvider(db, [ACME], 'prov_1', NOW),
    ['recommendations_to_apply (tenant_id=? AND provider_id=?)'],
  ],
  [
    'the open recommendations of a subject, and of several',
    async (db) => {
      const about = { providerId: 'prov_1', subject: 'model:gpt-5' };
      await findOpenRecommendationsOfSubject(db, [ACME], about);
      await findOpenRecommendationsOfSubjects(db, ACME, [about, { ...about, subject: 'model:gpt-6' }]);
    },
    Array<string>(2).fill('recommendations_open_by_subject (tenant_id=? AND provider_id=? AND subject=?)'),
  ],
  [
    'records after their retention time',
    async (db) => {
      const old = { tenantId: 'acme', before: NOW.toISOString(), limit: 100 };
      await deleteEndedSessions(db, old);
      await deleteFinishedTasks(db, old);
    },
    [
      'gateway_sessions_by_expiry (tenant_id=? AND expires_at<?)',
      'operator_tasks_completed (tenant_id=? AND completed_at>? AND completed_at<?)',
    ],
  ],
  [
    'the recommendations that `apply` without ids applies, in the order of an index',
    async (db) => {
      await findOpenRecommendations(db, [ACME], { providerId: 'prov_1' }, 100);
      await findUnapprovedRecommendations(db, [ACME], { providerId: 'prov_1' }, 100);
    },
    Array(2).fill('recommendations_to_apply (tenant_id=? AND provider_id=? AND is_applicable=?)') as string[],
  ],
  [
    'the observations of a recommendation',
    async (db) => {
      const fields = { displayName: null, description: null, baseUrl: null, metadata: {} };
      const { id } = await insertProvider(db, ACME, { name: 'x', kind: 'llm', status: 'active', ...fields }, NOW);
      const change = { target: { type: 'provider', id }, before: null, after: null } as const;
      const made = {
        providerId: id,
        kind: 'adopt_provider',
        subject: 'provider',
        reason: 'seen',
        isApplicable: false,
        change,
        subTenantId: null,
      } as const;
      const [recommendation = ''] = await insertRecommendations(db, ACME, [made], NOW);
      await findRecommendation(db, [ACME], recommendation);
    },
    [
      'providers_by_name (tenant_id=? AND sub_tenant_id=? AND name_key=?)',
      'provider_aliases (tenant_id=? AND sub_tenant_id=? AND alias_key=?)',
      'providers_by_name (tenant_id=? AND sub_tenant_id=? AND name_key=?)',
      'recommendations (tenant_id=? AND id=?)',
      'recommendation_observations (tenant_id=? AND recommendation_id=?)',
    ],
  ],
  [
    'the sessions that grant an item',
    async (db) => {
      const made = { name: 'edge', displayName: null, url: null, status: 'active', manifestId: null } as const;
      const gateway = await insertGateway(db, ACME, { ...made, ...MODES, providerIds: [], sessionTtlSeconds: 60 }, NOW);
      const opened = { gatewayId: gateway.id, subject: 'user:1', actor: null, openedBy: 'user:1', openedByKey: null };
      const grants = [{ providerId: 'prov_1', providerName: 'openai', items: [MODEL] }];
      const fields = { expiresAt: new Date(NOW.getTime() + 60_000).toISOString(), gatewayUrl: null, metadata: {} };
      const all = { providerIds: null };
      await insertGatewaySession(
        db,
        ACME,
        { ...opened, ...fields, ...all, grants, grantsDigest: 'sha256:0' },
        async () => {},
        NOW,
      );
      await revokeSessionsOfItems(db, [ACME], SESSIONS_OF, NOW);
    },
    [
      'gateway_grants (tenant_id=? AND provider_id=? AND digest=?)',
      'SCAN json_each VIRTUAL TABLE INDEX 1:',
      'gateway_grant_items (tenant_id=? AND provider_id=? AND item_key=?)',
      'gateway_session_grants_by_grants (tenant_id=? AND provider_id=? AND digest=? AND session_id>?)',
      'gateway_sessions (tenant_id=? AND id=?)',
      'gateway_sessions (tenant_id=? AND id=?)',
    ],
  ],
  [
    'the open sessions of a subject',
    (db) => countOpenSessions(db, [ACME], { gatewayId: 'gw_1', subject: 'user:1', most: 100 }, NOW),
    // The inner query is listed on its own as well.
    [
      ...Array<string>(2).fill('gateway_sessions_open (tenant_id=? AND gateway_id=? AND subject=? AND expires_at>?)'),
      'SCAN counted',
    ],
  ],
  [
    'a page of the audit, and of the events of one actor',
    async (db) => {
      await listAuditEvents(db, [ACME], { createdAfter: NOW.toISOString() }, PAGE);
      await listAuditEvents(db, [ACME], { actorId: 'sa_1' }, PAGE);
      await listAuditEvents(db, EVERYWHERE, { actorId: 'sa_1' }, PAGE);
      await listAuditEvents(db, [ACME_EU], { actorId: 'sa_1' }, PAGE);
      await listAuditEvents(db, [ACME_EU], {}, PAGE);
    },
    [
      'audit_events_by_tenant (tenant_id=? AND created_at>? AND (created_at,id)<(?,?))',
      'audit_events_by_tenant (tenant_id=? AND (created_at,id)<(?,?))',
      'audit_events_by_tenant (tenant_id=? AND (created_at,id)<(?,?))',
      'audit_events_by_time ((created_at,id)<(?,?))',
      'audit_events_by_time ((created_at,id)<(?,?))',
      'audit_events_by_place (tenant_id=? AND sub_tenant_id=? AND (created_at,id)<(?,?))',
      'audit_events_by_place (tenant_id=? AND sub_tenant_id=? AND (created_at,id)<(?,?))',
      'audit_events_by_place (tenant_id=? AND sub_tenant_id=? AND (created_at,id)<(?,?))',
    ],
  ],
  [
    'a page of traces',
    async (db) => {
      await listTraces(db, [ACME], { serviceName: 'shop', createdAfter: NOW.toISOString() }, PAGE);
      await listTraces(db, [ACME], { startedAfter: NOW.toISOString() }, PAGE);
      await listTraces(db, EVERYWHERE, {}, PAGE);
      await listTraces(db, [ACME_EU], {}, PAGE);
    },
    [
      'traces_by_tenant (tenant_id=? AND start_time<?)',
      'traces_by_tenant (tenant_id=? AND start_time<?)',
      'traces_by_tenant (tenant_id=? AND start_time>? AND start_time<?)',
      'traces_by_time (start_time<?)',
      'traces_by_place (tenant_id=? AND sub_tenant_id=? AND start_time<?)',
    ],
  ],
  [
    'a page of the sessions of a gateway',
    async (db) => {
      await listGatewaySessions(db, [ACME], { gatewayId: 'gw_1' }, PAGE, NOW);
      for (const status of ['revoked', 'expired']) {
        await listGatewaySessions(db, [ACME], { gatewayId: 'gw_1', status }, PAGE, NOW);
      }
      await listGatewaySessions(db, [ACME_EU], { gatewayId: 'gw_1', subject: 'user:1' }, { ...PAGE, after: null }, NOW);
    },
    [
      ...Array<string>(4).fill('gateway_sessions_by_gateway (tenant_id=? AND gateway_id=? AND (created_at,id)<(?,?))'),
      ...Array<string>(2).fill('gateway_sessions_by_gateway (tenant_id=? AND gateway_id=?)'),
    ],
  ],
  [
    'each batch of a list of sessions whose filter matches nothing',
    async (db) => {
      const made = { name: 'edge', displayName: null, url: null, status: 'active', manifestId: null } as const;
      const gateway = await insertGateway(db, ACME, { ...made, ...MODES, providerIds: [], sessionTtlSeconds: 60 }, NOW);
      const time = NOW.toISOString();
      const fields = {
        tenant_id: 'acme',
        sub_tenant_id: '',
        gateway_id: gateway.id,
        subject: 'user:1',
        opened_by: 'user:1',
        actor: null,
        revoked_at: null,
        gateway_url: null,
        metadata: '{}',
        issued_at: time,
        expires_at: time,
        created_at: time,
        updated_at: time,
      };
      const ids = Array.from({ length: 2001 }, (_, index) => `ses_${index}`);
      await db
        .insertInto('gateway_sessions')
        .values(ids.map((id) => ({ ...fields, id })))
        .execute();
      const page = { limit: 25, after: null };
      await listGatewaySessions(db, [ACME], { gatewayId: gateway.id, status: 'active' }, page, NOW);
    },
    [
      'gateway_sessions_by_gateway (tenant_id=? AND gateway_id=?)',
      'gateway_sessions_by_gateway (tenant_id=? AND gateway_id=? AND (created_at,id)>(?,?))',
      ...Array<string>(2).fill('gateway_sessions_by_gateway (tenant_id=? AND gateway_id=? AND (created_at,id)<(?,?))'),
    ],
  ],
  [
    'a page of the inventory of a provider',
    async (db) => {
      await listInventory(db, [ACME], { providerId: 'prov_1' }, PAGE);
      await listInventory(db, [ACME], { providerId: 'prov_1', kind: 'tool' }, PAGE);
      await listInventory(db, [ACME_EU], { providerId: 'prov_1', kind: 'tool', status: 'blocked' }, PAGE);
    },
    // Those that look for the next key select no items.
    [
      INVENTORY_PAGE,
      OF_PROVIDER,
      INVENTORY_PAGE,
      INVENTORY_PAGE,
      OF_PROVIDER,
      INVENTORY_PAGE,
      INVENTORY_PAGE,
      OF_PROVIDER,
    ],
  ],
  [
    'a page of the recommendations of a provider',
    async (db) => {
      await listRecommendations(db, [ACME], { providerId: 'prov_1' }, PAGE);
      await listRecommendations(db, [ACME], { providerId: 'prov_1', kind: 'block_item', status: 'open' }, PAGE);
      await listRecommendations(db, [ACME_EU], { providerId: 'prov_1', status: 'dismissed' }, PAGE);
    },
    Array<string>(5).fill('recommendations_by_provider (tenant_id=? AND provider_id=? AND (created_at,id)<(?,?))'),
  ],
  [
    'a page of the memberships of a tenant, and of a sub-tenant',
    async (db) => {
      const page = { limit: 25, after: [NOW.toISOString(), '["usr_1","acme",""]'] as const };
      await listMemberships(db, [ACME], { role: 'owner' }, page);
      await listMemberships(db, [ACME_EU], { status: 'pending' }, page);
    },
    [
      ...Array<string>(2).fill('memberships_by_time (tenant_id=? AND (created_at,user_id)<(?,?))'),
      ...Array<string>(2).fill('memberships_by_place (tenant_id=? AND sub_tenant_id=? AND (created_at,user_id)<(?,?))'),
    ],
  ],
  [
    'the newest heads of some tenants, where only intermediate results are scanned',
    (db) => listNewestHeads(db, { after: 'acme', limit: 200 }),
    [
      'audit_heads (tenant_id>?)',
      'SCAN tenant',
      'audit_heads (tenant_id>?)',
      'SCAN tenant',
      'audit_heads (tenant_id=? AND size<?)',
      'SCAN newest',
      'audit_heads (tenant_id=? AND size=?)',
    ],
  ],
  [
    'a page of the recommendations of all providers',
    async (db) => {
      await listRecommendationsOfAll(db, [ACME], {}, PAGE);
      await listRecommendationsOfAll(db, [ACME_EU], {}, PAGE);
      await listRecommendationsOfAll(db, EVERYWHERE, {}, PAGE);
    },
    [
      'recommendations_by_tenant (tenant_id=? AND (created_at,id)<(?,?))',
      'recommendations_by_place (tenant_id=? AND sub_tenant_id=? AND (created_at,id)<(?,?))',
      'recommendations_by_time ((created_at,id)<(?,?))',
    ],
  ],
  [
    'the recommendations that are based on an observation',
    (db) => listRecommendationsOfAll(db, [ACME], { observationId: 'obs_1', status: 'open' }, PAGE),
    [
      'runtime_observations (tenant_id=? AND id=?)',
      'recommendation_observations_by_observation (tenant_id=? AND observation_id=?)',
      'recommendations (tenant_id=? AND id=?)',
      // Of the few recommendations that were found.
      'USE TEMP B-TREE FOR ORDER BY',
    ],
  ],
  [
    'the console session of a token, and those of a user',
    async (db) => {
      await findConsoleSessionByToken(db, 'digest');
      await listConsoleSessions(db, { userId: 'usr_1', lastUsedAfter: NOW }, PAGE, NOW);
    },
    [
      'sqlite_autoindex_console_sessions_2 (token_digest=?)',
      'console_sessions_by_user (user_id=? AND (created_at,id)<(?,?))',
    ],
  ],
  [
    'observations of an agent, and the series of agents',
    async (db) => {
      await selectObservations(db, [ACME], { agent: 'billing', providerId: 'prov_1' }, PAGE);
      await findSeriesOfAgents(db, { tenantId: 'acme' }, [{ subTenantId: null, agent: 'billing' }]);
      await findActiveTimes(db, { tenantId: 'acme' }, ['use_1']);
    },
    [
      'runtime_observations_by_tenant (tenant_id=? AND (created_at,id)<(?,?))',
      'runtime_observations_by_provider (tenant_id=? AND provider_id=? AND (created_at,id)<(?,?))',
      'usage_series_by_provider (tenant_id=? AND provider_id=? AND kind=? AND name_key=?)',
      'usage_rollups (tenant_id=? AND series_id=?)',
      'usage_series_by_sub_tenant (tenant_id=? AND sub_tenant_id=?)',
      'usage_series (tenant_id=? AND id=?)',
      'usage_rollups (tenant_id=? AND series_id=? AND period=?)',
      'usage_rollups (tenant_id=? AND series_id=? AND period=?)',
    ],
  ],
  [
    'a page of the observations of an environment',
    (db) => selectObservations(db, [ACME], { environment: 'production' }, PAGE),
    Array<string>(2).fill('runtime_observations_by_tenant (tenant_id=? AND (created_at,id)<(?,?))'),
  ],
  [
    'a page of providers that are sorted by health, and whether there are too many to sort',
    async (db) => {
      await listSortedProviders(db, [ACME], { order: 'health' }, { limit: 25, after: ['1', 'x'] });
      await listSortedProviders(db, [ACME_EU], { order: 'name', text: 'open' }, { limit: 25, after: null });
      await areMoreProvidersThan(db, [ACME], 20_000);
    },
    [
      ...Array<string>(2).fill('providers_by_tenant (tenant_id=?)'),
      ...Array<string>(2).fill('providers_by_place (tenant_id=? AND sub_tenant_id=?)'),
      'providers (tenant_id=?)',
    ],
  ],
  [
    'a page of observations that are sorted by calls',
    (db) => selectSortedObservations(db, [ACME], { order: 'calls' }, { limit: 25, after: null }, NOW),
    Array<string>(2).fill('runtime_observations_by_tenant (tenant_id=?)'),
  ],
  [
    'a page of observations that are sorted by provider',
    (db) => selectSortedObservations(db, [ACME], { order: 'provider' }, { limit: 25, after: null }, NOW),
    [
      'runtime_observations_by_tenant (tenant_id=?)',
      'runtime_observations_by_tenant (tenant_id=?)',
      'providers (tenant_id=? AND id=?)',
    ],
  ],
  [
    'a page of the items of all providers of a tenant, and of all tenants',
    async (db) => {
      await listInventoryItems(db, [ACME], { text: 'gpt' }, PAGE);
      await listInventoryItems(db, EVERYWHERE, { kind: 'model' }, PAGE);
    },
    [
      'inventory_items (tenant_id=? AND id<?)',
      'inventory_items (tenant_id=? AND id<?)',
      'providers (tenant_id=? AND id=?)',
      'providers (tenant_id=? AND id=?)',
      'inventory_items_by_id (id<?)',
      'inventory_items_by_id (id<?)',
      'providers (tenant_id=? AND id=?)',
      'providers (tenant_id=? AND id=?)',
    ],
  ],
  [
    'a page of all users',
    (db) => listUsers(db, EVERYWHERE, { scope: EVERYWHERE, self: null }, { status: 'disabled' }, PAGE),
    Array<string>(2).fill('users_by_time ((created_at,id)<(?,?))'),
  ],
  [
    'one user of a tenant, by id and by email',
    async (db) => {
      const view = { scope: [ACME], self: null };
      await findUser(db, view, 'usr_1');
      await listUsers(db, [ACME], view, { email: 'ada@x.example' }, PAGE);
    },
    [
      'sqlite_autoindex_users_2 (id=?)',
      'memberships (tenant_id=? AND user_id=?)',
      'users (email_key=?)',
      'memberships (tenant_id=? AND user_id=?)',
    ],
  ],
])('searched by an index: %s', async (_what, ask, indexes) => {
  expect(await planOf(ask)).toEqual(indexes);
});

test('the providers without observations are sought among the discovered ones of the tenant', async () => {
  const [first] = await planOf((db) => findEmptiedProviders(db, ACME));
  expect(first).toBe('providers_discovered_in (tenant_id=?)');
});

test('the providers of a batch are found by indexes, one for each way to name them', async () => {
  const seen = { hosts: ['api.openai.com'], names: ['openai'], families: ['everything'] };
  const steps = await planOf((db) => findProvidersOfTraffic(db, ACME, seen));
  expect([...new Set(steps)].toSorted()).toEqual([
    'provider_aliases (tenant_id=? AND sub_tenant_id=? AND alias_key=?)',
    'provider_aliases_by_family (tenant_id=? AND alias_family=?)',
    'providers (tenant_id=? AND id=?)',
    'providers_by_family (tenant_id=? AND name_family=?)',
    'providers_by_host (tenant_id=? AND host=?)',
    'providers_by_name (tenant_id=? AND sub_tenant_id=? AND name_key=?)',
  ]);
});

// Before, SQLite read them again for each key of the tenant: to revoke what an account with 12,000 keys created took 2.7 s, of which
// one statement blocked the event loop for 0.66 s.
test('the ids of derived keys are read once, and not for each key that is compared with them', async () => {
  const scope = [ACME];
  const scopes = {
    api_key: scope,
    gateway_session: [],
    invitation: [],
    membership: [],
    console_session: [],
    platform_administrator: [],
  };
  const filter = { kinds: ['api_key'], records: null, consoleSessionsUsedAfter: NOW } as const;
  const source = { principal: 'service_account:acme/bot' };
  const options = { withoutAdministrators: false, withoutSuccessors: false };
  const steps = await planOf(async (db) => {
    const derivation = await findDerivation(db, scope, source, options);
    const page = { limit: 25, after: null };
    await listDerivedAccess(db, scopes, { derivation, filter: { ...filter, ...options } }, page, NOW);
  });
  const read = steps.findIndex((step) => step.startsWith('SCAN json_each'));
  expect(read).toBeLessThan(steps.findIndex((step) => step.includes('(tenant_id=? AND id=?)')));
  expect(steps.join()).toMatch(/followed USING AUTOMATIC|SCAN followed/);
});

/**
 * The steps in which the statements of a repository function search or scan tables, or sort. For a search it is the index (the
 * table's name for its primary key) and the searched columns.
 */
async function planOf(ask: (db: Database) => Promise<unknown>): Promise<string[]> {
  const db = await temporaryDatabase(ACME);
  const nodes: RootOperationNode[] = [];
  const listening: KyselyPlugin = {
    transformQuery({ node }) {
      // The plan of an insert only contains the checks of its foreign keys.
      if (node.kind !== 'InsertQueryNode') nodes.push(node);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await ask(db.withPlugin(listening));
  const steps: string[] = [];
  for (const node of nodes) {
    const { sql, parameters } = db.getExecutor().compileQuery(node, createQueryId());
    const { rows } = await db.executeQuery<{ detail: string }>(
      // Placeholders cannot be bound. The plan is the same for all values.
      CompiledQuery.raw(`explain query plan ${sql}`, Array(parameters.length).fill('')),
    );
    steps.push(...rows.map(({ detail }) => detail).filter((step) => /^(SCAN|SEARCH)|FOR ORDER BY$/.test(step)));
  }
  return steps
    .filter((step) => !/(CONSTANT ROWS?|-ROW VALUES CLAUSE)$/.test(step))
    .map((step) =>
      step.replace(/^SEARCH \S+ (EXISTS )?USING (COVERING )?INDEX /, '').replace(/^sqlite_autoindex_(\w+)_1 /, '$1 '),
    );
}
