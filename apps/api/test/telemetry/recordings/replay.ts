import { zstdDecompressSync } from 'node:zlib';
import { accountWithKey, type Place, unique } from '../../support/people.ts';
import type { Body, TestServer } from '../../support/server.ts';
import { tablesOf } from '../../support/tables.ts';
import { all } from '../traces/sending.ts';
import type { Recording } from './recording.ts';

/** What the API shows of a tenant after a recording was sent. */
export type Outcome = {
  observed: Observed[];
  /** The usage of each model and tool, by kind, provider and name. Null if the telemetry contains no usage. */
  usage: Map<string, { inputTokens: number; outputTokens: number; errors: number }> | null;
  /** The services that sent spans. */
  services: string[];
  /** Every answer about traces, observations and tasks, and everything that is stored of the tenant. */
  texts: string[];
};

export type Observed = {
  provider: string;
  kind: string;
  name: string;
  occurrences: number;
  unknown: boolean;
  /** The name of the blocked item that covers it. Null if none does. */
  blockedBy: string | null;
};

/** The status with which the tenant declares models, tools of MCP servers and tools of vendors. */
export type Declares = 'available' | 'blocked';

/** The address of the scripted model server, without its port, which differs. The host is enough to match a provider. */
const MODEL_SERVER = 'http://127.0.0.1/v1';

/** Sends the recorded requests unchanged to a new tenant that declares everything in the recording's truth. */
export async function replay(server: TestServer, { requests, truth }: Recording, declares: Declares): Promise<Outcome> {
  const place = { tenantId: unique('recording') };
  const reader = await accountWithKey(server, place);
  const sender = await accountWithKey(server, place, ['traces:write']);
  const itemNames = new Map<string, string>();
  for (const [name, { kind, items }] of providersIn(truth)) {
    const body = { name, kind, ...(kind === 'llm' && { baseUrl: MODEL_SERVER }) };
    const provider = await server.ok('POST', '/v1/providers', { as: reader, body });
    for (const item of items) {
      const declared = { ...item, status: declares };
      const { id } = await server.ok('POST', `/v1/providers/${provider.id}/inventory`, { as: reader, body: declared });
      itemNames.set(id, item.name);
    }
  }
  for (const { path, contentType, contentEncoding, body } of requests) {
    const headers = {
      'content-type': contentType,
      ...(contentEncoding !== null && { 'content-encoding': contentEncoding }),
    };
    // The OpenAPI document describes JSON, but answers to protobuf are protobuf.
    await server.ok('POST', path, {
      as: sender,
      raw: new Uint8Array(Buffer.from(body, 'base64')),
      headers,
      unchecked: true,
    });
  }
  return outcomeIn(server, reader, itemNames);
}

/**
 * What the API shows of the tenant now, and what is stored of it.
 *
 * @param itemNames the names of declared inventory items, by id
 */
export async function outcomeIn(
  server: TestServer,
  as: { key: string; place: Place },
  itemNames: ReadonlyMap<string, string> = new Map(),
): Promise<Outcome> {
  const providers = await all(server, '/v1/providers?limit=100', as);
  const nameOf = new Map(providers.map(({ id, name }) => [id, name]));
  const observations = await all(server, '/v1/runtime-observations?limit=100', as);
  const traces = await all(server, '/v1/traces?limit=100', as);
  const spans = await Promise.all(traces.map(({ traceId }) => all(server, `/v1/traces/${traceId}/spans`, as)));
  const tasks = await all(server, '/v1/operator/tasks?limit=100', as);
  const observed = observations.map((observation: Body): Observed => {
    const { providerId, kind, name, occurrences, unknown, inventoryItemId, risk } = observation;
    const isBlocked = risk.factors.some(({ factor }: Body) => factor === 'blocked_item');
    const blockedBy = isBlocked ? (itemNames.get(inventoryItemId) ?? null) : null;
    return { provider: nameOf.get(providerId) ?? providerId, kind, name, occurrences, unknown, blockedBy };
  });
  return {
    observed,
    usage: await usageIn(server, as, nameOf),
    services: [
      ...new Set([
        ...spans.flat().map(({ serviceName }) => serviceName ?? 'unknown_service'),
        ...observations.flatMap(({ evidence }) => evidence.serviceNames),
      ]),
    ],
    texts: [
      JSON.stringify([providers, observations, traces, spans, tasks]),
      await storedText(server, as.place.tenantId),
    ],
  };
}

const DAY_MS = 86_400_000;
const LONGEST_RANGE_DAYS = 3650;

/** The usage by kind, provider and name, without the date of a dated model. */
async function usageIn(
  server: TestServer,
  as: { key: string },
  nameOf: Map<string, string>,
): Promise<Outcome['usage']> {
  const from = new Date(Math.floor(Date.now() / DAY_MS - LONGEST_RANGE_DAYS) * DAY_MS).toISOString();
  const path = `/v1/usage?group_by=kind&group_by=provider&group_by=name&limit=1000&from=${from}`;
  const answer = await server.call('GET', path, { as, unchecked: true });
  if (answer.status === 404) return null;
  const usage: NonNullable<Outcome['usage']> = new Map();
  for (const { kind, providerId, name, inputTokens, outputTokens, errors } of answer.body.items) {
    const key = `${kind} ${nameOf.get(providerId)}/${withoutDate(name)}`;
    const sum = usage.get(key) ?? { inputTokens: 0, outputTokens: 0, errors: 0 };
    usage.set(key, {
      inputTokens: sum.inputTokens + inputTokens,
      outputTokens: sum.outputTokens + outputTokens,
      errors: sum.errors + errors,
    });
  }
  return usage;
}

/** The name of a model without a date. */
export function withoutDate(name: string): string {
  return name.replace(/[-@]\d{4}-?\d{2}-?\d{2}$/, '');
}

type Declared = Map<string, { kind: 'llm' | 'mcp'; items: { kind: 'model' | 'tool'; name: string }[] }>;

function providersIn({ models, tools }: Recording['truth']): Declared {
  const declared: Declared = new Map();
  const add = (name: string, kind: 'llm' | 'mcp', item: { kind: 'model' | 'tool'; name: string }) => {
    const known = declared.get(name);
    if (known) known.items.push(item);
    else declared.set(name, { kind, items: [item] });
  };
  for (const { vendor, name } of models) add(vendor, 'llm', { kind: 'model', name });
  const vendors = new Set(models.map(({ vendor }) => vendor));
  for (const { server, runsAt, name } of tools) {
    if (server !== null) add(server, 'mcp', { kind: 'tool', name });
    else if (runsAt === 'vendor') for (const vendor of vendors) add(vendor, 'llm', { kind: 'tool', name });
  }
  return declared;
}

/** Every value in the database, except rows of other tenants, decompressed. */
async function storedText(server: TestServer, tenantId: string): Promise<string> {
  const rows = Object.values(await tablesOf(server.services.db, tenantId)).flat();
  return rows.flatMap((row) => Object.values(row).map(unpacked)).join('\n');
}

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

function unpacked(value: unknown): string {
  if (!(value instanceof Uint8Array)) return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const texts = [bytes.toString('utf8')];
  // A frame may follow our own header.
  for (let at = bytes.indexOf(ZSTD_MAGIC); at !== -1; at = bytes.indexOf(ZSTD_MAGIC, at + 1)) {
    try {
      texts.push(zstdDecompressSync(bytes.subarray(at)).toString('utf8'));
    } catch {
      // These four bytes were not the start of a frame.
    }
  }
  return texts.join('\n');
}
