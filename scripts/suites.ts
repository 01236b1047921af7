import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startPostgres } from '../packages/db/testing/postgres-server.ts';
import { ROOT } from './run.ts';
import { printSummary, removeReports } from './summary.ts';
import { CHECKS, runTasks } from './tasks.ts';

/** The two forms of the suites, which docs/testing.md describes. Both are tasks of the workspaces. */
export type Form = 'test' | 'test:deep';

type Options = { flags: readonly string[]; environment?: Record<string, string> };

const API = '--filter=@quartermaster/api';
const NOT_API = '--filter=!@quartermaster/api';

/** Suites that follow that of the API in the quick form, so that both lanes take about as long. */
const AFTER_API = ['--filter=@quartermaster/db', '--filter=@quartermaster/torture'];
const NOT_AFTER_API = ['--filter=!@quartermaster/db', '--filter=!@quartermaster/torture'];

/**
 * What runs at the same time: two lanes, each with runs of turbo one after the other, and each run with one task at a time. Both
 * lanes take about as long. With five tasks at the same time, two cores need a third more CPU time, for context switches, cold
 * caches and loading modules, and three took longer than two.
 */
const LANES = {
  test: [
    [
      ['test', API],
      ['test', ...AFTER_API],
    ],
    [CHECKS, ['test', NOT_API, ...NOT_AFTER_API]],
  ],
  'test:deep': [
    [['test:deep', API]],
    [
      ['types', '--filter=!//'],
      ['test:deep', NOT_API],
    ],
  ],
} satisfies Record<Form, string[][][]>;

/** Suites that test on PostgreSQL. */
const ON_POSTGRES = ['@quartermaster/api', '@quartermaster/console', '@quartermaster/db'];

/** Makes turbo write what it ran to a file, which the summary reads. */
const SUMMARIZED = { TURBO_RUN_SUMMARY: 'true' };

/**
 * Runs one form of every workspace's suite, and with the quick one every check. Then prints what failed and, as the last line, how
 * many tests passed.
 *
 * @param flags passed to turbo, such as `--force`
 * @returns the exit code
 */
export async function runSuites(form: Form, { flags, environment = {} }: Options): Promise<number> {
  await removeReports();
  const server = await startSharedPostgres(form, { flags, environment });
  try {
    const shared = server === null ? {} : { QM_TEST_POSTGRES_URL: server.urlOf('postgres') };
    const options = { flags, environment: { ...environment, ...shared, ...SUMMARIZED }, concurrency: 1 };
    const lanes = await Promise.all(LANES[form].map((lane) => runLane(lane, options)));
    const passed = await printSummary();
    return passed && !lanes.includes(false) ? 0 : 1;
  } finally {
    await server?.stop();
  }
}

/** @returns whether all runs passed. A failed one does not end the lane. */
async function runLane(
  lane: readonly (readonly string[])[],
  options: Parameters<typeof runTasks>[1],
): Promise<boolean> {
  let passed = true;
  for (const tasks of lane) {
    if ((await runTasks(tasks, options)) !== 0) passed = false;
  }
  return passed;
}

/** One server for all suites, unless turbo has cached their results or the developer names a server. */
async function startSharedPostgres(form: Form, { flags, environment = {} }: Options) {
  if (process.env['QM_TEST_POSTGRES_URL'] !== undefined) return null;
  if (flags.includes('--force')) return startPostgres();
  const { stdout } = await promisify(execFile)('turbo', ['run', form, '--dry=json', ...flags], {
    cwd: ROOT,
    env: { ...process.env, ...environment, TURBO_TELEMETRY_DISABLED: '1' },
    maxBuffer: 64 * 1024 * 1024,
  });
  const plan = JSON.parse(stdout) as { tasks: { package: string; cache: { status: string } }[] };
  const needed = plan.tasks.some(({ package: name, cache }) => ON_POSTGRES.includes(name) && cache.status !== 'HIT');
  return needed ? startPostgres() : null;
}
