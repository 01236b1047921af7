import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Facts, Use } from '../../src/telemetry/reading/facts.ts';
import { type BatchLookup, lookUpBatch } from '../../src/telemetry/matching/batch-lookup.ts';
import { matcherOf } from '../../src/telemetry/matching/provider-match.ts';
import { unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { factsOf } from '../telemetry/calls/facts.ts';
import { newSpanId, newTraceId } from '../telemetry/traces/sending.ts';
import { declare } from './match-support.ts';

/** As many names as one statement looks up. The name that a test looks for comes after them. */
const OTHERS = 5000;

const tenantId = unique('lookup');

let server: TestServer;
let providerId: string;

beforeAll(async () => {
  server = await startTestServer();
  const declared = { name: 'Acme Files', kind: 'mcp', baseUrl: 'https://files.acme.example/mcp' };
  providerId = await declare(server, tenantId, { ...declared, tools: ['find'], models: ['acme-large'] });
});
afterAll(() => server.stop());

const use = (kind: Use['kind'], name: string) => ({ uses: [{ kind, name }] });

type Named = { facts?: Partial<Facts>; serviceName?: string; uses?: Use[] };
type Row = {
  what: string;
  named: (name: string) => Named;
  last: string;
  found: (lookup: BatchLookup) => string | undefined;
};

const ROWS: Row[] = [
  {
    what: 'host',
    named: (name) => ({ facts: { serverAddress: name } }),
    last: 'files.acme.example',
    found: ({ providers }) => providers.findAtHost('files.acme.example', 443)[0]?.id,
  },
  {
    what: 'name',
    named: (name) => ({ serviceName: name }),
    last: 'acme files',
    found: ({ providers }) => providers.findByName('acme files')?.id,
  },
  {
    what: 'rewritten name of a server',
    named: (name) => ({ facts: { toolServer: name } }),
    last: 'acme_files',
    found: ({ providers }) => providers.findServer('acme_files')?.id,
  },
  {
    what: 'tool',
    named: (name) => use('tool', name),
    last: 'find',
    found: ({ soleTool }) => soleTool('find')?.provider.id,
  },
  {
    what: 'model',
    named: (name) => use('model', name),
    last: 'acme-large',
    found: ({ soleProviderOfModel }) => soleProviderOfModel('acme-large')?.id,
  },
];

test.each(ROWS)('a $what is found after thousands of others in the same batch', async ({ named, last, found }) => {
  const names = [...Array.from({ length: OTHERS }, (_, index) => `other${index}`), last];
  const traceId = newTraceId();
  const batch = names.map((name) => {
    const { facts = {}, serviceName = null, uses = [] } = named(name);
    return { traceId, spanId: newSpanId(), parentSpanId: null, serviceName, facts: factsOf(facts), uses };
  });
  const place = { tenantId, subTenantId: null };
  expect(found(await lookUpBatch(server.services.db, place, batch.slice(0, OTHERS)))).toBeUndefined();
  expect(found(await lookUpBatch(server.services.db, place, batch))).toBe(providerId);
});

test('5,000 hashed names are looked up among the names and aliases of 30 servers in less than a second', async () => {
  const tenant = unique('hashed');
  for (let number = 0; number < 30; number += 1) {
    const aliases = Array.from({ length: 20 }, (_, index) => `alias ${number} ${index}`);
    await declare(server, tenant, { name: `server ${number}`, kind: 'mcp', aliases, tools: ['echo'] });
  }
  const unknown = Array.from({ length: 5000 }, (_, index) => hash('sha256', `unknown ${index}`));
  const facts = factsOf({ toolServer: unknown[0] ?? null });
  const span = { traceId: newTraceId(), spanId: newSpanId(), parentSpanId: null, serviceName: null, facts, uses: [] };
  const { hashedServer } = await lookUpBatch(server.services.db, { tenantId: tenant, subTenantId: null }, [span]);
  expect(hashedServer(hash('sha256', 'alias 7 3'))?.name).toBe('server 7');
  const started = process.cpuUsage();
  for (const name of unknown) expect(hashedServer(name)).toBeUndefined();
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1e6).toBeLessThan(1);
});

test('2,000 tools of 100 servers at one host are matched in less than a second', async () => {
  const tenant = unique('gateway');
  const [servers, toolsOfEach] = [100, 20];
  const toolOf = (index: number) => `Get-Item-${index}`;
  for (let number = 0; number < servers; number += 1) {
    const tools = Array.from({ length: toolsOfEach }, (_, index) => toolOf(number * toolsOfEach + index));
    const baseUrl = `https://gateway.acme.example/mcp/${number}`;
    await declare(server, tenant, { name: `Big Server ${number}`, kind: 'mcp', baseUrl, tools });
  }
  const facts = factsOf({ serverAddress: 'gateway.acme.example', mcpMethod: 'tools/call' });
  const spans = Array.from({ length: servers * toolsOfEach }, (_, index) => {
    const name = `big_server_${Math.floor(index / toolsOfEach)}_get_item_${index}`;
    const ids = { traceId: newTraceId(), spanId: newSpanId(), parentSpanId: null, serviceName: null };
    return { ...ids, facts, uses: [{ kind: 'tool' as const, name }] };
  });
  const place = { tenantId: tenant, subTenantId: null };
  const { db, now } = server.services;
  const lookup = await lookUpBatch(db, place, spans);
  const started = process.cpuUsage();
  const { match } = matcherOf(lookup, place, spans, now());
  const matches = spans.map((span) => match(span, span.uses[0] as Use));
  const { user, system } = process.cpuUsage(started);
  expect(matches.map(({ name }) => name)).toEqual(spans.map((_, index) => toolOf(index)));
  expect((user + system) / 1e6).toBeLessThan(1);
});
