import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MARKERS } from '../model-server/markers.ts';

/** A scratch folder, as the recorder sets it. */
export const HOME = process.env['HOME'] ?? '';

/** What each agent is asked, one run of its program each. */
export const QUESTION = `What is the weather? ${MARKERS.question}`;
export const FAILING_QUESTION = `Please fail. ${MARKERS.fail}`;

const TIME_LIMIT_MS = 60_000;

/**
 * Runs the command of an agent in an empty folder, with nothing of this process's environment but the path.
 * @param program a file in `node_modules`
 * @returns the exit code; null if the time limit ended it
 */
export async function runCli(
  program: string,
  args: string[],
  environment: Record<string, string>,
): Promise<number | null> {
  const child = startCli(program, args, environment);
  child.stdout.pipe(process.stdout);
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

/** Starts the command as `runCli` does. Its output is for the caller to read. */
export function startCli(program: string, args: string[], environment: Record<string, string>) {
  const folder = join(HOME, 'work');
  mkdirSync(folder, { recursive: true });
  const file = fileURLToPath(new URL(`node_modules/${program}`, import.meta.url));
  const [command, first] = file.endsWith('js') ? [process.execPath, [file]] : [file, []];
  return spawn(command, [...first, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME, TMPDIR: HOME, TERM: 'dumb', LANG: 'C.UTF-8', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: TIME_LIMIT_MS,
  });
}

/** The question must be answered, and the failing one must fail. */
export async function runBoth(run: (question: string) => Promise<number | null>): Promise<void> {
  const answered = await run(QUESTION);
  if (answered !== 0) throw new Error(`The agent ended with ${answered}.`);
  const failed = await run(FAILING_QUESTION);
  if (failed === 0 || failed === null) throw new Error(`The agent was to fail, and ended with ${failed}.`);
}
