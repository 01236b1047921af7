import { join } from 'node:path';
import { ROOT, run } from './run.ts';

/** What `npm run check` runs, and `npm test` before the suites. Scripts of the root package.json. */
export const CHECKS = [
  '//#format:check',
  '//#lint',
  '//#types',
  '//#types:client',
  '//#dead-code',
  '//#boundaries',
  '//#generated',
  '//#document',
];

/** The suites of all workspaces. */
export const SUITES = ['test'];

/** Where Node keeps what it has compiled, for every process that a task starts: some of them are started anew for each test. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/quartermaster');

type Options = { flags?: readonly string[]; environment?: Record<string, string> };

/** How many tasks run at once. With more, a machine of two cores spends its time on switching between them. */
const CONCURRENCY = 2;

/** Runs tasks through turbo, which skips what has not changed since it last passed. @returns the exit code */
export function runTasks(tasks: readonly string[], { flags = [], environment = {} }: Options = {}): Promise<number> {
  return run('turbo', ['run', ...tasks, '--continue', `--concurrency=${CONCURRENCY}`, ...flags], {
    environment: {
      TURBO_TELEMETRY_DISABLED: '1',
      REDOCLY_TELEMETRY: 'off',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...environment,
    },
  });
}
