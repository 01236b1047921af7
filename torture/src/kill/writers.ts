import type { Body, Connection } from '../connection.ts';
import { between } from '../random.ts';
import type { Ledger } from './ledger.ts';

/** What a writer works with: its own connection, and existing records. */
export type Desk = { connection: Connection; ledger: Ledger; world: World; random: () => number };

/** The existing records that the writers of a loop need. */
type World = { providerId: string; providerName: string; gatewayId: string; holder: string };

/** A writer continues until its connection ends. */
export type Writer = (desk: Desk) => Promise<never>;

const times = { startTimeUnixNano: '1750000000000000000', endTimeUnixNano: '1750000001000000000' };

/** Creates the tenant of a loop, with the records that its writers need. */
export async function makeWorld(connection: Connection, ledger: Ledger): Promise<World> {
  const { tenantId } = ledger;
  const holder = `holder-of-${tenantId}`;
  const account = { operation: 'create_service_account', effects: [{ record: `account/${holder}`, state: 'active:' }] };
  const body = { id: holder, name: holder, tenantId };
  await ledger.write(account, () => connection.send('POST', '/v1/service-accounts', { body }));
  ledger.named(`account/${holder}`, holder);
  const providerName = `provider-of-${tenantId}`;
  const provider = { operation: 'create_provider', effects: [{ record: `provider/${providerName}`, state: '' }] };
  const made = await ledger.write(provider, () =>
    connection.send('POST', '/v1/providers', { body: { name: providerName, kind: 'llm', tenantId } }),
  );
  ledger.named(`provider/${providerName}`, made.id);
  const gateway = await ledger.accepted('create_gateway', () =>
    connection.send('POST', '/v1/gateways', { body: { name: 'edge', providerIds: [made.id], tenantId } }),
  );
  return { providerId: made.id, providerName, gatewayId: gateway.id, holder };
}

/** Creates accounts, changes each, and disables or deletes some. */
export const accounts: Writer = async ({ connection, ledger, random }) => {
  const { tenantId } = ledger;
  const name = `of-${between(random, 0, 1e9)}`;
  for (let count = 0; ; count += 1) {
    const id = `account-${name}-${count}`;
    const record = `account/${id}`;
    const path = `/v1/service-accounts/${id}`;
    const query = `?tenant_id=${tenantId}`;
    await ledger.write({ operation: 'create_service_account', effects: [{ record, state: 'active:' }] }, () =>
      connection.send('POST', '/v1/service-accounts', { body: { id, name: id, tenantId, metadata: { count } } }),
    );
    ledger.named(record, id);
    await ledger.write({ operation: 'update_service_account', effects: [{ record, state: 'active:changed' }] }, () =>
      connection.send('PUT', path + query, { body: { displayName: 'changed' } }),
    );
    if (count % 3 === 0) {
      await ledger.write(
        { operation: 'disable_service_account', effects: [{ record, state: 'disabled:changed' }] },
        () => connection.send('POST', `${path}/disable${query}`),
      );
    }
    if (count % 3 === 1) {
      await ledger.write({ operation: 'delete_service_account', effects: [{ record, state: 'deleted:changed' }] }, () =>
        connection.send('DELETE', path + query),
      );
    }
  }
};

/** Creates keys, and revokes or rotates them. A rotation ends one key and creates another, or does neither. */
export const keys: Writer = async ({ connection, ledger, world, random }) => {
  const path = `/v1/service-accounts/${world.holder}/keys`;
  const query = `?tenant_id=${ledger.tenantId}`;
  const writer = between(random, 0, 1e9);
  for (let count = 0; ; count += 1) {
    const name = `key-${writer}-${count}`;
    const record = `key/${name}#0`;
    const create = { operation: 'create_service_account_key', effects: [{ record, state: 'active' }] };
    const made = await ledger.write(create, () =>
      connection.send('POST', path + query, { body: { name, scopes: ['providers:read'] } }),
    );
    ledger.named(record, made.id);
    if (count % 2 === 0) {
      const revoke = { operation: 'revoke_service_account_key', effects: [{ record, state: 'revoked' }] };
      await ledger.write(revoke, () => connection.send('DELETE', `${path}/${made.id}${query}`));
      continue;
    }
    const next = `key/${name}#1`;
    const rotate = {
      operation: 'rotate_service_account_key',
      effects: [
        { record, state: 'revoked' },
        { record: next, state: 'active' },
      ],
    };
    const rotated = await ledger.write(rotate, () =>
      connection.send('POST', `${path}/${made.id}/rotate${query}`, { body: { overlapSeconds: 0 } }),
    );
    ledger.named(next, rotated.id);
  }
};

/** Changes one record repeatedly. Every acknowledged version is the last one, or was. */
export const updates: Writer = async ({ connection, ledger, world }) => {
  const record = `provider/${world.providerName}`;
  for (let count = 1; ; count += 1) {
    const state = `version ${count}`;
    await ledger.write({ operation: 'update_provider', effects: [{ record, state }] }, () =>
      connection.send('PUT', `/v1/providers/${world.providerId}`, { body: { displayName: state } }),
    );
  }
};

/** Opens sessions, and revokes every second one. */
export const sessions: Writer = async ({ connection, ledger, world, random }) => {
  const path = `/v1/gateways/${world.gatewayId}/sessions`;
  const writer = between(random, 0, 1e9);
  for (let count = 0; ; count += 1) {
    const tag = `session-${writer}-${count}`;
    const record = `session/${tag}`;
    const open = { operation: 'create_gateway_session', effects: [{ record, state: 'active' }] };
    const made = await ledger.write(open, () => connection.send('POST', path, { body: { metadata: { tag } } }));
    ledger.named(record, made.id);
    if (count % 2 === 0) continue;
    const revoke = { operation: 'revoke_gateway_session', effects: [{ record, state: 'revoked' }] };
    await ledger.write(revoke, () => connection.send('DELETE', `${path}/${made.id}`));
  }
};

/** Sends spans of a few models in large batches. Each batch is a trace, which must be stored completely or not at all. */
export const ingest: Writer = (desk) => sendBatches(desk, 5, 120);

/** Sends small batches, as an exporter does. Those of several writers wait at the same time, and share a transaction. */
export const ingestSmall: Writer = (desk) => sendBatches(desk, 1, 10);

async function sendBatches(desk: Desk, least: number, most: number): Promise<never> {
  const { connection, ledger, world, random } = desk;
  const key = await keyOf(connection, ledger, world);
  for (;;) {
    const models = Array.from({ length: between(random, least, most) }, () => `model-${between(random, 1, 8)}`);
    await sendSpans(desk, key, models);
  }
}

/** The governance loop: a new model is observed, approved, registered, undone, and registered again. */
export const governance: Writer = async (desk) => {
  const { connection, ledger, world, random } = desk;
  const key = await keyOf(connection, ledger, world);
  const provider = `/v1/providers/${world.providerId}`;
  const writer = between(random, 0, 1e9);
  for (let count = 0; ; count += 1) {
    const name = `governed-${writer}-${count}`;
    await sendSpans(desk, key, [name, name]);
    const observations = await connection.ok('GET', `${provider}/observations?limit=100`);
    const observation = observations.items.find((item: Body) => item.name === name);
    const review = {
      operation: 'review_runtime_observation',
      effects: [{ record: `review/${name}`, state: 'approved' }],
    };
    await ledger.write(review, () =>
      connection.send('POST', `/v1/runtime-observations/${observation.id}/review`, { body: { decision: 'approved' } }),
    );
    ledger.named(`review/${name}`, observation.id);
    const open = await connection.ok('GET', `${provider}/recommendations?status=open&kind=register_item&limit=100`);
    const recommendation = open.items.find((item: Body) => item.change.after.name === name);
    const record = `recommendation/${recommendation.id}`;
    const item = `item/${name}`;
    const apply = {
      operation: 'apply_provider_recommendations',
      effects: [
        { record, state: 'applied' },
        { record: item, state: 'available' },
      ],
    };
    const applied = async () => {
      await ledger.write(apply, () =>
        connection.send('POST', `${provider}/recommendations/apply`, {
          body: { recommendationIds: [recommendation.id] },
        }),
      );
      ledger.named(record, recommendation.id);
    };
    await applied();
    if (count % 3 === 0) continue;
    const undo = {
      operation: 'undo_recommendation',
      effects: [
        { record, state: 'open' },
        { record: item, state: null },
      ],
    };
    await ledger.write(undo, () => connection.send('POST', `/v1/recommendations/${recommendation.id}/undo`));
    if (count % 3 === 1) await applied();
  }
};

/** A key of the loop's tenant, because spans go to the tenant of their key. */
async function keyOf(connection: Connection, ledger: Ledger, { holder }: World): Promise<string> {
  const path = `/v1/service-accounts/${holder}/keys?tenant_id=${ledger.tenantId}`;
  const body = { scopes: ['traces:write'] };
  const { key } = await ledger.accepted('create_service_account_key', () => connection.send('POST', path, { body }));
  return key;
}

async function sendSpans({ connection, ledger, world, random }: Desk, key: string, models: string[]): Promise<void> {
  const traceId = Array.from({ length: 4 }, () =>
    between(random, 0, 2 ** 32 - 1)
      .toString(16)
      .padStart(8, '0'),
  ).join('');
  const attribute = (name: string, value: string) => ({ key: name, value: { stringValue: value } });
  const spans = models.map((model, index) => ({
    traceId,
    spanId: (index + 1).toString(16).padStart(16, '0'),
    name: 'chat',
    kind: 3,
    ...times,
    attributes: [
      attribute('gen_ai.operation.name', 'chat'),
      attribute('gen_ai.provider.name', world.providerName),
      attribute('gen_ai.request.model', model),
    ],
  }));
  const sent = { operation: 'ingest_traces', effects: [{ record: `trace/${traceId}`, state: `${models.length}` }] };
  await ledger.write(sent, () =>
    connection.send('POST', '/v1/traces', { key, body: { resourceSpans: [{ scopeSpans: [{ spans }] }] } }),
  );
}
