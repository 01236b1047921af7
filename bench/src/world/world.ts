import { randomBytes } from 'node:crypto';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { mintApiKey } from '@quartermaster/api/src/access/api-key-format.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { batchTemplate, traceOf } from '../otlp/batch.ts';
import { startQuartermaster } from '../servers/quartermaster.ts';
import { type Caller, callerAt } from './caller.ts';

/** A database as a platform in use has it, and what is needed to call on it. */
export type World = {
  folder: string;
  databaseUrl: string;
  secretKey: string;
  adminKey: string;
  /** A key with all scopes in the tenant that most workloads are about. */
  key: string;
  tenantId: string;
  gatewayId: string;
  providerId: string;
  trace: { id: string; spans: number };
  /** Keys of tenants of their own, to send spans with. */
  tenantKeys: string[];
};

export type WorldSize = { providers: number; tenants: number; spansOfTrace: number };

/** The tenant that most workloads are about. */
const TENANT = 'acme';

/**
 * Makes the world through the API itself, so that every row is as the API writes it.
 *
 * @param databaseUrl of an empty database; the file of an embedded one is never served, only copied
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
      // What agents use is seen once before it is measured, as in a platform that has run for a day.
      await callerAt(server.port, tenantKey).sendSpans(batchTemplate(40).bytes);
      tenantKeys.push(tenantKey);
    }
    const ids = { tenantId: TENANT, gatewayId: gateway.id as string, providerId: first };
    return {
      ...{ folder, databaseUrl, secretKey, adminKey, key, tenantKeys, ...ids },
      trace: { id: trace.traceId, spans: size.spansOfTrace },
    };
  } finally {
    await server.stop();
  }
}

/** A copy of the world's file for one server. The world is closed, so that one file is all of it. */
export function copyOf(world: World, name: string): string {
  const path = join(world.folder, `${name}.db`);
  copyFileSync(fileOfWorld(world), path);
  return path;
}

/** Where a world on SQLite is. */
export function fileOfWorld({ databaseUrl }: World): string {
  return databaseUrl.replace(/^sqlite:/, '');
}

/** Removes a copy, with what SQLite has beside it. */
export function removeCopy(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
}

/** A tenant with the provider that its agents use. @returns a key for it */
async function makeTenant(admin: Caller, tenantId: string): Promise<string> {
  await admin.post('/v1/service-accounts', { id: 'bench', name: 'Bench', tenantId });
  const made = await admin.post(`/v1/service-accounts/bench/keys?tenant_id=${tenantId}`, {
    name: 'bench',
    scopes: ['*'],
  });
  await admin.post('/v1/providers', {
    ...{ tenantId, name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', status: 'active' },
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
