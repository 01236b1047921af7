import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { sql } from 'kysely';
import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { expectNoSecrets, type Line, sendSecrets } from './secret-requests.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { startService } from './support/start.ts';
import { wire } from './support/wire.ts';

/** A service in this process, and its log lines so far. */
async function loggingService(environment: Record<string, string>, level = 'info') {
  const lines: Line[] = [];
  const log = pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  const { url, services, stop } = await startService(environment, { log });
  /** The lines of the whole life of the service. */
  const linesAtEnd = async () => {
    await stop();
    return lines;
  };
  return { url, services, linesAtEnd };
}

// The deep form sends each body as each caller, to the service in its own process.
test('the output contains no key, token, password or other value of a request, for any outcome', async () => {
  const file = await databaseFile();
  const admin = newBootstrapKey();
  const environment = { DATABASE_URL: `sqlite:${file}`, QM_BOOTSTRAP_API_KEY: admin, QM_DEV_IDENTITY: '1' };
  const service = await loggingService(environment, 'debug');
  const sent = await sendSecrets({ url: service.url, admin, file }, { bodies: 'one for each caller' });
  expectNoSecrets(await service.linesAtEnd(), sent);
});

test('every request has one line, with its id, operation, status and duration', async () => {
  const admin = newBootstrapKey();
  const service = await loggingService({ DATABASE_URL: `sqlite:${await databaseFile()}`, QM_BOOTSTRAP_API_KEY: admin });
  const requests: [string, string, number, string | undefined][] = [
    ['GET', '/healthz', 200, undefined],
    ['GET', '/v1/providers', 200, 'list_providers'],
    ['HEAD', '/v1/providers', 200, 'list_providers'],
    ['GET', '/v1/users/none', 404, 'get_user'],
    // The unknown query parameter is refused.
    ['GET', '/v1/providers/none', 422, 'get_provider'],
    ['POST', '/v1/providers', 422, 'create_provider'],
    ['PATCH', '/v1/providers', 405, undefined],
    ['GET', '/v1/nothing', 404, undefined],
    ['GET', '/nothing', 404, undefined],
    ['GET', '/docs/', 200, undefined],
    ['GET', '/trpc/providers.list', 200, 'list_providers'],
    ['GET', '/trpc/nothing', 404, undefined],
    ['GET', '/%', 404, undefined],
  ];
  for (const [index, [method, target, status]] of requests.entries()) {
    const headers = { 'x-api-key': admin, 'x-request-id': `request-${index}` };
    expect((await wire(service.url, { method, target: `${target}?secret=1`, headers })).status).toBe(status);
  }
  const lines = (await service.linesAtEnd()).filter(({ msg }) => msg === 'request');
  expect(lines).toHaveLength(requests.length);
  for (const [index, [method, path, status, operationId]] of requests.entries()) {
    const found = lines.filter(({ callerRequestId }) => callerRequestId === `request-${index}`);
    expect(found).toEqual([
      expect.objectContaining({
        level: 30,
        method,
        path,
        status,
        durationMs: expect.any(Number),
        time: expect.any(Number),
      }),
    ]);
    expect(found[0]?.['operationId']).toBe(operationId);
    // Only operations authenticate their callers.
    expect(found[0]?.['caller']).toBe(operationId && 'service_account:default/bootstrap');
    expect(found[0]).not.toHaveProperty('address');
  }
});

test('the line of a request that waited for its turn says how long, and the metric of its operation too', async () => {
  const admin = newBootstrapKey();
  const service = await loggingService({ DATABASE_URL: `sqlite:${await databaseFile()}`, QM_BOOTSTRAP_API_KEY: admin });
  const headers = { 'x-api-key': admin, 'content-type': 'application/json' };
  const send = async (method: string, path: string) => {
    const body = method === 'POST' ? '{}' : undefined;
    expect((await fetch(`${service.url}${path}`, { method, headers, ...(body && { body }) })).status).toBe(200);
  };
  await send('GET', '/v1/providers');
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  // More than a caller may do at once.
  const name = 'service_account:default/bootstrap';
  const { scheduler } = service.services;
  const holding = (['read', 'write'] as const).flatMap((kind) =>
    Array.from({ length: 300 }, () => scheduler.run({ name, tenant: name }, kind, () => held)),
  );
  const run = vi.spyOn(scheduler, 'run');
  const waiting = Promise.all([send('GET', '/v1/tenants'), send('POST', '/v1/traces')]);
  await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(2), { timeout: 60_000 });
  // How long they wait.
  await sleep(20);
  release();
  await Promise.all([waiting, ...holding]);
  const lines = await service.linesAtEnd();
  const { values } = await service.services.metrics.waits.get();
  const waitOf = (operation: string) => lines.find(({ operationId }) => operationId === operation)?.['waitMs'];
  expect(waitOf('list_providers')).toBeUndefined();
  for (const operation of ['list_tenants', 'ingest_traces']) {
    expect(waitOf(operation)).toBeGreaterThan(10);
    const counted = values.find(({ labels }) => labels.operation === operation)?.value ?? 0;
    expect(Math.round(counted * 1000)).toBe(waitOf(operation));
  }
});

test('the line of a refused credential has the address of its sender, and no caller', async () => {
  const admin = newBootstrapKey();
  const service = await loggingService({ DATABASE_URL: `sqlite:${await databaseFile()}`, QM_BOOTSTRAP_API_KEY: admin });
  for (const key of [admin, newBootstrapKey()]) {
    await wire(service.url, { target: '/v1/providers', headers: { 'x-api-key': key } });
  }
  const [known, unknown] = (await service.linesAtEnd()).filter(({ msg }) => msg === 'request');
  expect(known).toMatchObject({ status: 200, caller: 'service_account:default/bootstrap', keyId: expect.any(String) });
  expect(unknown).toMatchObject({ status: 401, address: '127.0.0.1' });
  expect(unknown).not.toHaveProperty('caller');
});

test('an unexpected error is logged once with its cause and request id, and the answer contains no details', async () => {
  const file = await databaseFile();
  const admin = newBootstrapKey();
  const service = await loggingService({ DATABASE_URL: `sqlite:${file}`, QM_BOOTSTRAP_API_KEY: admin });
  const db = new SqliteDatabase(file);
  db.exec('drop table inventory_items; drop table gateway_providers; drop table providers');
  db.close();
  for (const [index, target] of ['/v1/providers', '/trpc/providers.list'].entries()) {
    const headers = { 'x-api-key': admin, 'x-request-id': `failing-${index}` };
    const answer = await wire(service.url, { target, headers });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toMatch(/sqlite|table|stack|\.ts|select/i);
    const body = JSON.parse(answer.text);
    expect(body.error?.data ?? body).toMatchObject({ code: 'internal_error', instance: headers['x-request-id'] });
  }
  const failed = (await service.linesAtEnd()).filter(({ msg }) => msg === 'request failed');
  expect(failed.map(({ callerRequestId }) => callerRequestId)).toEqual(['failing-0', 'failing-1']);
  for (const line of failed) {
    expect(line).toMatchObject({
      level: 50,
      err: { message: expect.stringContaining('no such table'), stack: expect.any(String) },
    });
  }
});

test('regression: a request that the database refuses has a line with the cause, such as a full disk', async () => {
  const admin = newBootstrapKey();
  const service = await loggingService({ DATABASE_URL: `sqlite:${await databaseFile()}`, QM_BOOTSTRAP_API_KEY: admin });
  // The file must not grow, as on a full disk. A raw query uses the writing connection.
  await sql`pragma max_page_count = 1`.execute(service.services.db);
  const send = (name: string) =>
    fetch(`${service.url}/v1/providers`, {
      method: 'POST',
      headers: { 'x-api-key': admin, 'content-type': 'application/json' },
      body: JSON.stringify({ name, kind: 'llm', metadata: { text: 'x'.repeat(12_000) } }),
    });
  // The first ones may still find free pages.
  let refused = await send('provider-0');
  for (let attempt = 1; attempt < 5 && refused.ok; attempt += 1) refused = await send(`provider-${attempt}`);
  expect(refused.status).toBe(503);
  expect(await refused.text()).not.toContain('disk');
  const lines = await service.linesAtEnd();
  expect(lines.find(({ msg }) => msg === 'database unavailable')).toMatchObject({
    level: 40,
    requestId: refused.headers.get('x-request-id'),
    operationId: 'create_provider',
    cause: 'database or disk is full',
  });
});
