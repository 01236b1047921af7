import { join } from 'node:path';
import { ROOT, run } from './run.ts';

/**
 * What `npm run check` runs, and `npm test` before the suites. The root's `types` is one program for all workspaces but the client and
 * the sources of the console. It takes half the CPU time of the `types` tasks of the workspaces (19 s and 36 s), each of which reads
 * the sources of the workspaces that it imports. `npm run test:deep` runs those.
 */
export const CHECKS = ['//#lint', '//#types', 'dead-code', 'generated', 'format:check', 'document', 'boundaries'];

/** Node's compile cache for every process that a task starts. Some tests start new processes. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/quartermaster');

/**
 * The type checker and the linter's rules that read types are Go programs. They collect garbage only above this much memory, which
 * saves a quarter of their CPU time.
 */
const GO_MEMORY = { GOGC: 'off', GOMEMLIMIT: '2GiB' };

type Options = {
  flags?: readonly string[];
  environment?: Record<string, string>;
  /** How many tasks run at the same time. Most checks use one core, and the linter both. */
  concurrency?: number;
};

/** Runs tasks through turbo, which skips tasks whose inputs did not change since they last passed. @returns the exit code */
export function runTasks(
  tasks: readonly string[],
  { flags = [], environment = {}, concurrency = 2 }: Options = {},
): Promise<number> {
  return run('turbo', ['run', ...tasks, '--continue', `--concurrency=${concurrency}`, ...flags], {
    environment: {
      TURBO_TELEMETRY_DISABLED: '1',
      REDOCLY_TELEMETRY: 'off',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...GO_MEMORY,
      ...environment,
    },
  });
}
