import { mkdir, rmdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import type { RunningServer } from '../src/server/start.ts';
import { startMessage } from '../src/server/start-message.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { startFailure, startService, statusWith } from './support/start.ts';

describe('the bootstrap key', () => {
  /** The text that the program prints once the service listens. */
  const printed = (server: RunningServer, environment: Record<string, string>) =>
    startMessage(server, readConfig(environment));

  test('is generated and printed once on an empty database, and not at the next start', async () => {
    const environment = { DATABASE_URL: `sqlite:${await databaseFile()}` };
    const first = await startService(environment);
    const key = first.bootstrapKey ?? '';
    expect(printed(first, environment)).toContain(`bootstrap API key: ${key}\n`);
    expect(await statusWith(first.url, key)).toBe(200);
    await first.stop();
    const second = await startService(environment);
    expect(printed(second, environment)).not.toContain('bootstrap API key');
    expect(await statusWith(second.url, key)).toBe(200);
  });

  test('regression: is created only if it can be written to its file', async () => {
    const file = await databaseFile();
    const environment = { DATABASE_URL: `sqlite:${file}` };
    const draft = `${file}.bootstrap-key.${process.pid}`;
    await mkdir(draft);
    const refused = startService(environment, { bootstrapKeyToFile: true });
    await expect(refused).rejects.toThrow(/^QM_BOOTSTRAP_API_KEY: .* cannot be written to [^\n]+$/);
    await rmdir(draft);
    const { url, bootstrapKey, bootstrapKeyFile } = await startService(environment, { bootstrapKeyToFile: true });
    expect(bootstrapKeyFile).toBe(`${file}.bootstrap-key`);
    expect(await statusWith(url, bootstrapKey ?? '')).toBe(200);
  });

  test('from the environment works and is not printed; another one is ignored once there is an administrator', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const [given, later] = [newBootstrapKey(), newBootstrapKey()];
    const first = await startService({ DATABASE_URL, QM_BOOTSTRAP_API_KEY: given });
    expect(printed(first, { DATABASE_URL, QM_BOOTSTRAP_API_KEY: given })).not.toContain('qm_');
    expect(await statusWith(first.url, given)).toBe(200);
    await first.stop();
    const second = await startService({ DATABASE_URL, QM_BOOTSTRAP_API_KEY: later });
    expect([await statusWith(second.url, given), await statusWith(second.url, later)]).toEqual([200, 401]);
  });

  test('is not lost to a start that fails because the port is taken', async () => {
    const DATABASE_URL = `sqlite:${await databaseFile()}`;
    const taken = await startService({ DATABASE_URL: `sqlite:${await databaseFile()}` });
    const failure = await startFailure({ DATABASE_URL, PORT: new URL(taken.url).port });
    // Regression: the program printed a stack trace.
    expect(failure).toEqual({
      message: expect.stringMatching(/^PORT: 127\.0\.0\.1:\d+ is in use\. [^\n]+$/),
      exitCode: 2,
    });
    const { url, bootstrapKey } = await startService({ DATABASE_URL });
    expect(await statusWith(url, bootstrapKey ?? '')).toBe(200);
  });

  test('of a deleted administrator does not work again, and no other key is generated at the next start', async () => {
    const given = newBootstrapKey();
    const environment = { DATABASE_URL: `sqlite:${await databaseFile()}`, QM_BOOTSTRAP_API_KEY: given };
    const first = await startService(environment);
    const headers = { 'x-api-key': given };
    const deleted = await fetch(`${first.url}/v1/service-accounts/bootstrap`, { method: 'DELETE', headers });
    expect(deleted.status).toBe(200);
    await first.stop();
    const second = await startService(environment);
    expect(second.bootstrapKey).toBeNull();
    expect(await statusWith(second.url, given)).toBe(401);
  });
});
