import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** The records that the attacker prepared, in a tenant in which it holds every scope. */
export type HostileWorld = {
  keys: readonly string[];
  /** With 5,000 items each. */
  providerIds: readonly string[];
  /** Their lists grow when they are read. */
  bombs: readonly string[];
  /** Lists the providers: a session grants 10,000 items. */
  gatewayId: string;
  itemId: string;
};

export type Request = {
  method: string;
  path: string;
  /** A string or a buffer is sent unchanged. */
  body?: object | string | Buffer | undefined;
  headers?: Record<string, string>;
  /** Null: none. */
  key: string | null;
};

type Attack = { name: string; request: (world: HostileWorld & { key: string }, count: number) => Request };

const MIB = 1024 * 1024;

const UNKNOWN_MEMBERS = JSON.stringify(Object.fromEntries(Array.from({ length: 85_000 }, (_, i) => [`m${i}`, 0])));
const DEEP = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
const LONG_LIST = JSON.stringify({
  name: 'x',
  kind: 'llm',
  metadata: { list: Array.from({ length: 400_000 }, () => 0) },
});

/** As many declarations as a manifest may have, none of which the version before has. */
function declarations(count: number): object[] {
  return Array.from({ length: 1000 }, (_, index) => ({
    provider: 'first',
    kind: 'model',
    name: `model-${count}-${index}`,
  }));
}

const post = (path: string, body?: object | string) => (world: { key: string }) => ({
  method: 'POST',
  path,
  body,
  key: world.key,
});
const get = (path: string) => (world: { key: string }) => ({ method: 'GET', path, key: world.key });

/** Every kind of expensive request, at its limits. */
export const ATTACKS: readonly Attack[] = [
  { name: 'bodies with unknown members', request: post('/v1/service-accounts', UNKNOWN_MEMBERS) },
  { name: 'bodies that nest', request: post('/v1/providers', DEEP) },
  { name: 'bodies with long lists', request: post('/v1/providers', LONG_LIST) },
  {
    name: 'registrations',
    request: () => ({ method: 'POST', path: '/v1/onboarding/register', body: UNKNOWN_MEMBERS, key: null }),
  },
  {
    name: 'manifests',
    request: ({ key }, count) => ({
      method: 'POST',
      path: '/v1/manifests',
      body: { kind: 'agent', name: 'agent', spec: { declares: declarations(count) } },
      key,
    }),
  },
  {
    name: 'keys that do not exist',
    request: () => ({ method: 'GET', path: '/v1/providers', key: randomBytes(20).toString('hex') }),
  },
  {
    name: 'public paths',
    request: (_, count) => ({
      method: 'GET',
      path: ['/openapi.json', '/readyz', '/none'][count % 3] ?? '/',
      key: null,
    }),
  },
  {
    name: 'lists',
    request: ({ key, providerIds }) => get(`/v1/providers/${providerIds[0]}/inventory?limit=100`)({ key }),
  },
  { name: 'filters that find nothing', request: get('/v1/runtime-observations?name=none&limit=100') },
  { name: 'filters of traces', request: get('/v1/traces?service_name=none&limit=100') },
  { name: 'filters of the audit', request: get('/v1/audit-events?target_id=none&limit=100') },
  { name: 'proofs of the audit chain', request: get('/v1/audit-events/verify?limit=100') },
  { name: 'searches', request: post('/v1/service-accounts/search', { query: 'a', limit: 100 }) },
  { name: 'sessions', request: ({ key, gatewayId }) => post(`/v1/gateways/${gatewayId}/sessions`, {})({ key }) },
  {
    name: 'lists of sessions',
    request: ({ key, gatewayId }) => get(`/v1/gateways/${gatewayId}/sessions?limit=100`)({ key }),
  },
  {
    name: 'blocks',
    request: ({ key, providerIds, itemId }, count) => ({
      method: 'PUT',
      path: `/v1/providers/${providerIds[0]}/inventory/${itemId}`,
      body: { status: count % 2 === 0 ? 'blocked' : 'available' },
      key,
    }),
  },
  {
    name: 'syncs of bombs',
    request: ({ key, bombs }, count) => post(`/v1/providers/${bombs[count % bombs.length]}/sync`, {})({ key }),
  },
  {
    name: 'syncs of long lists',
    request: ({ key, providerIds }, count) => post(`/v1/providers/${providerIds[count % 2]}/sync`, {})({ key }),
  },
  {
    name: 'renames',
    request: ({ key, providerIds }, count) => ({
      method: 'PUT',
      path: `/v1/providers/${providerIds[1]}`,
      body: { name: count % 2 === 0 ? 'renamed' : 'second' },
      key,
    }),
  },
  {
    name: 'keys',
    request: ({ key }, count) => post(`/v1/service-accounts/account-${count % 20}/keys`, { scopes: ['*'] })({ key }),
  },
  { name: 'spans', request: ({ key }, count) => ({ method: 'POST', path: '/v1/traces', body: manySpans(count), key }) },
  ...telemetry(),
  {
    name: 'idempotency keys',
    request: ({ key }, count) => ({
      method: 'POST',
      path: '/v1/operator/tasks/none/claim',
      body: 'x'.repeat(MIB / 2),
      headers: { 'idempotency-key': `key-${count}` },
      key,
    }),
  },
  {
    name: 'recommendations',
    request: ({ key, providerIds }) => post(`/v1/providers/${providerIds[0]}/recommendations/apply`, {})({ key }),
  },
  {
    name: 'apply what is recommended',
    request: ({ key, providerIds }) => get(`/v1/providers/${providerIds[1]}/recommendations?limit=100`)({ key }),
  },
];

/** Telemetry that is small when sent, and large when decompressed or decoded. */
function telemetry(): Attack[] {
  const packed = { 'content-encoding': 'gzip' };
  const send = (name: string, body: Buffer, headers: Record<string, string> = packed, path = '/v1/traces'): Attack => ({
    name,
    request: ({ key }) => ({ method: 'POST', path, body, headers, key }),
  });
  const bomb = gzipSync(Buffer.alloc(117 * MIB, ' '), { level: 9 });
  return [
    send('telemetry that unpacks to more than fits', bomb),
    send('log records that unpack to more than fits', bomb, packed, '/v1/logs'),
    send(
      'telemetry of twenty million values',
      gzipSync(`{"resourceSpans":[${'{},'.repeat(20 * MIB)}{}]}`, { level: 9 }),
    ),
    send('the smallest spans', gzipSync(smallestSpans(60 * MIB), { level: 1 })),
    send('spans of a shared resource', gzipSync(smallestSpans(MIB, 'x'.repeat(60 * 1024)))),
  ];
}

/** As many spans as fit into a body of this size. */
function smallestSpans(bytes: number, note = ''): string {
  const spans: string[] = [];
  for (let size = 0; size < bytes - 100 * 1024; ) {
    const id = (spans.length + 1).toString(16).padStart(16, '0');
    const span = `{"traceId":"${id}${id}","spanId":"${id}","startTimeUnixNano":"1"}`;
    size += span.length + 1;
    spans.push(span);
  }
  const resource = `{"attributes":[{"key":"note","value":{"stringValue":"${note}"}}]}`;
  return `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"spans":[${spans.join(',')}]}]}]}`;
}

/** 200 spans, each of a new model. */
function manySpans(count: number): object {
  const now = String(BigInt(Date.now()) * 1_000_000n);
  const spans = Array.from({ length: 200 }, (_, index) => ({
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    name: 'chat',
    kind: 3,
    startTimeUnixNano: now,
    endTimeUnixNano: now,
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'gen_ai.provider.name', value: { stringValue: 'first' } },
      { key: 'gen_ai.request.model', value: { stringValue: `unknown-${count}-${index}` } },
    ],
  }));
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
}
