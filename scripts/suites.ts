import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startPostgres } from '../packages/db/testing/postgres-server.ts';
import { ROOT } from './run.ts';
import { printSummary, removeReports } from './summary.ts';
import { CHECKS, runTasks, SUITES } from './tasks.ts';

type Options = { flags: readonly string[]; environment?: Record<string, string> };

/** Suites that test on PostgreSQL. */
const ON_POSTGRES = ['@quartermaster/api#test:postgres', '@quartermaster/console#test', '@quartermaster/db#test'];

const API = '@quartermaster/api';
const TORTURE = '@quartermaster/torture';

/**
 * What runs at the same time: two lanes, each with runs of turbo one after the other, and each run with one task at a time. Both
 * lanes take about as long. With five tasks at the same time, two cores need a third more CPU time, for context switches, cold
 * caches and loading modules, and three took longer than two. The checks come first, because they use both cores, and later tests
 * measure times.
 */
const LANES = [
  [['test', `--filter=${API}`, `--filter=${TORTURE}`]],
  [CHECKS, ['test:postgres', `--filter=${API}`], ['test', `--filter=!${API}`, `--filter=!${TORTURE}`]],
];

/** Makes turbo write what it ran to a file, which the summary reads. */
const SUMMARIZED = { TURBO_RUN_SUMMARY: 'true' };

/**
 * Runs every check and every workspace's suite, then prints what failed and, as the last line, how many tests passed.
 *
 * @param flags passed to turbo, such as `--force`
 * @returns the exit code
 */
export async function runSuites({ flags, environment = {} }: Options): Promise<number> {
  await removeReports();
  const server = await startSharedPostgres(flags, environment);
  try {
    const shared = server === null ? {} : { QM_TEST_POSTGRES_URL: server.urlOf('postgres') };
    const options = { flags, environment: { ...environment, ...shared, ...SUMMARIZED }, concurrency: 1 };
    const lanes = await Promise.all(LANES.map((lane) => runLane(lane, options)));
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
async function startSharedPostgres(flags: readonly string[], environment: Record<string, string>) {
  if (process.env['QM_TEST_POSTGRES_URL'] !== undefined) return null;
  if (flags.includes('--force')) return startPostgres();
  const { stdout } = await promisify(execFile)('turbo', ['run', ...SUITES, '--dry=json', ...flags], {
    cwd: ROOT,
    env: { ...process.env, ...environment, TURBO_TELEMETRY_DISABLED: '1' },
    maxBuffer: 64 * 1024 * 1024,
  });
  const plan = JSON.parse(stdout) as { tasks: { taskId: string; cache: { status: string } }[] };
  const needed = plan.tasks.some(({ taskId, cache }) => ON_POSTGRES.includes(taskId) && cache.status !== 'HIT');
  return needed ? startPostgres() : null;
}
