import { randomBytes } from 'node:crypto';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { mintApiKey } from '@quartermaster/api/src/auth/api-key-format.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { batchTemplate, traceOf } from '../otlp/batch.ts';
import { startQuartermaster } from '../servers/quartermaster.ts';
import { type Caller, callerAt } from './caller.ts';

/** A database like that of a platform in use, and the credentials to call its API. */
export type World = {
  folder: string;
  databaseUrl: string;
  secretKey: string;
  adminKey: string;
  /** A key with all scopes in the tenant that most workloads use. */
  key: string;
  tenantId: string;
  gatewayId: string;
  providerId: string;
  trace: { id: string; spans: number };
  /** Keys of several tenants, to send spans. */
  tenantKeys: string[];
};

export type WorldSize = { providers: number; tenants: number; spansOfTrace: number };

/** The tenant that most workloads use. */
const TENANT = 'acme';

/**
 * Creates the world through the API, so that every row is as the API writes it.
 *
 * @param databaseUrl the URL of an empty database. A SQLite file is only copied afterwards, never served.
 */
export async function makeWorld(folder: string, databaseUrl: string, size: WorldSize): Promise<World> {
  const secretKey = randomBytes(32).toString('base64');
  const adminKey = mintApiKey(newId('key', new Date())).key;
  const server = await startQuartermaster({
    core: null,
    databaseUrl,
    secretKey,
    logPath: join(folder, 'world.log'),
    bootstrapApiKey: adminKey,
    profileFolder: null,
  });
  try {
    const admin = callerAt(server.port, adminKey);
    const key = await makeTenant(admin, TENANT);
    const caller = callerAt(server.port, key);
    const providerIds: string[] = [];
    for (let number = 0; number < size.providers; number += 1) {
      providerIds.push((await caller.post('/v1/providers', provider(number))).id as string);
    }
    const [first = '', second = ''] = providerIds;
    for (const providerId of [first, second]) {
      for (const name of ['gpt-5.2', 'gpt-5.2-mini', 'text-embedding-4', 'o5', 'gpt-4.1']) {
        await caller.post(`/v1/providers/${providerId}/inventory`, { kind: 'model', name });
      }
    }
    const gateway = await caller.post('/v1/gateways', {
      name: 'edge',
      url: 'https://gateway.example',
      providerIds: [first, second],
    });
    const trace = traceOf(size.spansOfTrace);
    await caller.sendSpans(trace.bytes);
    const tenantKeys: string[] = [];
    for (let number = 0; number < size.tenants; number += 1) {
      const tenantKey = await makeTenant(admin, `tenant-${String(number).padStart(3, '0')}`);
      // Ingest the agents' items once before measuring, so that their observations exist, as in a platform in use.
      await callerAt(server.port, tenantKey).sendSpans(batchTemplate(40).bytes);
      tenantKeys.push(tenantKey);
    }
    const ids = { tenantId: TENANT, gatewayId: gateway.id as string, providerId: first };
    return {
      folder,
      databaseUrl,
      secretKey,
      adminKey,
      key,
      tenantKeys,
      ...ids,
      trace: { id: trace.traceId, spans: size.spansOfTrace },
    };
  } finally {
    await server.stop();
  }
}

/** A copy of the world's file for one server. The world is closed, so that all data are in one file. */
export function copyOf(world: World, name: string): string {
  const path = join(world.folder, `${name}.db`);
  copyFileSync(fileOfWorld(world), path);
  return path;
}

/** The file of a world on SQLite. */
export function fileOfWorld({ databaseUrl }: World): string {
  return databaseUrl.replace(/^sqlite:/, '');
}

/** Removes a copy, with SQLite's other files. */
export function removeCopy(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

/** Creates a tenant with the provider that its agents use. @returns a key for it */
async function makeTenant(admin: Caller, tenantId: string): Promise<string> {
  await admin.post('/v1/service-accounts', { id: 'bench', name: 'Bench', tenantId });
  // The default of 12,000 requests per minute would refuse what is measured.
  await admin.put(`/v1/tenants/${tenantId}/limits`, {
    requestsPerMinute: 10_000_000,
    storedBytes: 1e12,
    serviceAccounts: 10_000_000,
    openSessions: 10_000_000,
  });
  const made = await admin.post(`/v1/service-accounts/bench/keys?tenant_id=${tenantId}`, {
    name: 'bench',
    scopes: ['*'],
  });
  await admin.post('/v1/providers', {
    tenantId,
    name: 'openai',
    kind: 'llm',
    baseUrl: 'https://api.openai.com/v1',
    status: 'active',
  });
  return made.key as string;
}

function provider(number: number) {
  const name = `provider-${String(number).padStart(3, '0')}`;
  return {
    name,
    displayName: `Provider ${number}`,
    description: 'Models of the platform team, behind the company gateway.',
    kind: 'llm',
    baseUrl: `https://${name}.models.example/v1`,
    status: 'active',
    metadata: { team: 'platform', region: 'eu-central-1', costCenter: 4711, tags: ['production', 'reviewed'] },
  };
}
