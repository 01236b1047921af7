import { execFile } from 'node:child_process';
import { glob, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres } from '../packages/db/testing/postgres-server.ts';
import { regexEscaped } from './regular-expressions.ts';
import { ROOT } from './run.ts';
import { CHECKS, runTasks, SUITES } from './tasks.ts';

type Report = { [count in 'numPassedTests' | 'numPendingTests' | 'numTodoTests']?: number } & {
  testResults?: TestFile[];
};
type TestFile = { name: string; status?: string; message?: string; assertionResults?: Assertion[] };
type Assertion = { ancestorTitles?: string[]; title: string; status: string; failureMessages?: string[] };

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

/** The longest error message that the summary shows, in characters. */
const MAX_MESSAGE = 800;

/**
 * Runs every check and every workspace's suite, then prints what failed and, as the last line, how many tests passed.
 *
 * @param flags passed to turbo, such as `--force`
 * @returns the exit code
 */
export async function runSuites({ flags, environment = {} }: Options): Promise<number> {
  // A suite that crashes must not be counted by its last report.
  for await (const path of reportPaths()) await rm(join(ROOT, path));
  const server = await startSharedPostgres(flags, environment);
  try {
    const shared = server === null ? {} : { QM_TEST_POSTGRES_URL: server.urlOf('postgres') };
    const options = { flags, environment: { ...environment, ...shared }, concurrency: 1 };
    const passed = await Promise.all(LANES.map((lane) => runLane(lane, options)));
    const { failed, reports } = await printSummary();
    return passed.includes(false) || failed > 0 || reports === 0 ? 1 : 0;
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

async function printSummary(): Promise<{ failed: number; reports: number }> {
  const total = { passed: 0, failed: 0, skipped: 0 };
  let reports = 0;
  for await (const path of reportPaths()) {
    const report = JSON.parse(await readFile(join(ROOT, path), 'utf8')) as Report;
    reports += 1;
    const failures = failuresOf(report);
    for (const failure of failures) process.stdout.write(`${failure}\n`);
    total.passed += report.numPassedTests ?? 0;
    total.failed += failures.length;
    total.skipped += (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0);
  }
  process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
  return { failed: total.failed, reports };
}

/** Each failed test and each failed hook, with its message and the command that runs it alone. */
function failuresOf({ testResults = [] }: Report): string[] {
  return testResults.flatMap(({ name, status, message = '', assertionResults = [] }) => {
    const file = relative(ROOT, name);
    const failures = assertionResults
      .filter((test) => test.status === 'failed')
      .map(({ ancestorTitles = [], title, failureMessages = [] }) => {
        // The form that vitest's `-t` matches. The report's `fullName` joins with spaces instead.
        const fullName = [...ancestorTitles, title].join(' > ');
        return [
          `failed: ${file} > ${fullName}`,
          failureMessages.join('\n').slice(0, MAX_MESSAGE),
          `run it alone: npm run test:one -- ${file} -t ${shellQuoted(regexEscaped(fullName))}`,
        ].join('\n');
      });
    // A file has a message only if it could not be loaded or one of its hooks failed.
    if (message !== '' || (status === 'failed' && failures.length === 0))
      failures.push(`failed: ${file}\n${message.slice(0, MAX_MESSAGE)}\nrun it alone: npm run test:one -- ${file}`);
    return failures;
  });
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The files to which vitest writes its results. A workspace may have several suites. */
function reportPaths(): AsyncIterable<string> {
  return glob(['{apps,packages}/*/reports/vitest*.json', '{bench,torture}/reports/vitest.json'], { cwd: ROOT });
}
