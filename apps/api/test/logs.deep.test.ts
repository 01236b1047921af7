import { expect, test } from 'vitest';
import { expectNoSecrets, type Line, sendSecrets } from './secret-requests.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { startProcess } from './support/process.ts';

test('the output contains no key, token, password or other value of a request, for any outcome', async () => {
  const file = await databaseFile();
  const admin = newBootstrapKey();
  const environment = {
    DATABASE_URL: `sqlite:${file}`,
    QM_BOOTSTRAP_API_KEY: admin,
    QM_DEV_IDENTITY: '1',
    QM_LOG_LEVEL: 'debug',
  };
  const service = await startProcess(environment);
  const sent = await sendSecrets({ url: service.url, admin, file }, { bodies: 'each for each caller' });
  service.child.kill('SIGTERM');
  expect(await service.ended).toEqual({ code: 0, signal: null });
  // Buffered lines are written at the end.
  const output = service.output();
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  expectNoSecrets(
    lines.map((line) => JSON.parse(line) as Line),
    sent,
  );
  for (const [name, secret] of Object.entries(sent.secrets)) expect(output.includes(secret), name).toBe(false);
});
