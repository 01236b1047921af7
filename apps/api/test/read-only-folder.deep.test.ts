import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@quartermaster/db/testing/temporary-folder.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../src/config.ts';
import { NODE_COMPILE_CACHE } from './support/process.ts';

/** Root may write everywhere, so under root the programs run as another user. */
const OTHER_USER = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/** Node may be installed in a folder that only root can read. */
const isRunnable = spawnSync(process.execPath, ['--version'], OTHER_USER).status === 0;

type Started = { status: number | null; stdout: string; stderr: string };

function runReadOnly(args: readonly string[], environment: Record<string, string> = {}): Started {
  const { PATH = '' } = process.env;
  const env = {
    PATH,
    NODE_COMPILE_CACHE,
    QM_METRICS_PORT: 'off',
    QM_OTLP_GRPC_PORT: 'off',
    QM_CONSOLE: 'off',
    PORT: '0',
    ...environment,
  };
  return spawnSync(process.execPath, args, { ...OTHER_USER, env, encoding: 'utf8', timeout: 120_000 });
}

async function folder(): Promise<string> {
  const path = await temporaryFolder('quartermaster-read-only-');
  onTestFinished(async () => {
    await chmod(path, 0o755);
    await rm(path, { recursive: true });
  });
  return path;
}

test.skipIf(!isRunnable).each(['.', 'apps/api'])(
  'regression: an installation in a read-only folder fails with one line: %s',
  async (readOnly) => {
    const path = await folder();
    for (const name of ['scripts', 'apps', 'apps/api', 'packages']) await mkdir(join(path, name));
    for (const name of ['scripts/install.js', 'package.json']) await copyFile(join(ROOT, name), join(path, name));
    await chmod(path, readOnly === '.' ? 0o555 : 0o777);
    await chmod(join(path, 'apps/api'), 0o555);
    const { status, stdout, stderr } = runReadOnly([join(path, 'scripts/install.js'), 'server']);
    const message = `the packages cannot be installed: ${join(path, readOnly)} is read-only for this user\n`;
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: message });
  },
);

test.skipIf(!isRunnable)('regression: a database in a read-only folder is refused in one line', async () => {
  const path = await folder();
  await chmod(path, 0o555);
  const main = join(ROOT, 'apps/api/src/main.ts');
  for (const file of [join(path, 'q.db'), join(path, 'data', 'q.db')]) {
    const { status, stdout, stderr } = runReadOnly([main], { DATABASE_URL: `sqlite:${file}` });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^DATABASE_URL: the database cannot be used: [^\n]*EACCES[^\n]*\n$/);
  }
});
