import { type ChildProcess, spawn } from 'node:child_process';
import type { Logger } from 'pino';
import { installation } from '../../installation.ts';
import { type ConsoleFiles, readConsoleFiles } from './files.ts';
import { endOf, killGroup } from './child-process.ts';

/** `building`: the sources differ from the last build. `failed`: there is no build, and building failed. */
export type ConsoleState =
  | { status: 'ready'; files: ConsoleFiles }
  | { status: 'building' }
  | { status: 'failed'; reason: string };

export type Console = {
  /** Waits until the sources are compared with the last build, which takes a fraction of a second. Never waits for a build. */
  state: () => Promise<ConsoleState>;
  /** Ends a running build. */
  stop: () => Promise<void>;
};

/** The program's first line on standard output, if the sources differ from the last build. */
const STARTED = 'building';

/** Characters of a failed build's output that are logged. */
const MAX_OUTPUT = 2000;

/** Opens the web console. In a checkout it is built first if its sources changed since the last build. */
export function openConsole(log: Logger): Console {
  const { folder, build } = installation.console;
  return build === null ? openBuilt(folder) : openAndBuild(log, { folder, build });
}

/** The built console of the npm package. */
function openBuilt(folder: string): Console {
  const state = readConsoleFiles(folder).then((files): ConsoleState => {
    if (files === null) return { status: 'failed', reason: 'The package has no console. Install it again.' };
    return { status: 'ready', files };
  });
  return { state: () => state, stop: async () => {} };
}

/** Starts a child process that also installs the packages that a build needs. The API never waits for it. */
function openAndBuild(log: Logger, { folder, build }: { folder: string; build: string }): Console {
  const child = spawn(process.execPath, [build, '--install'], {
    cwd: installation.root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // In its own process group, so that a stop also ends the package manager that the child may have started.
    detached: true,
  });
  const ended = endOf(child);
  let latest: ConsoleState = { status: 'building' };
  const finished = ended.then(async ({ code, output }) => {
    const files = await readConsoleFiles(folder);
    if (code !== 0) log.warn({ output: output.slice(-MAX_OUTPUT) }, 'the console could not be built');
    if (files !== null) latest = { status: 'ready', files };
    else latest = { status: 'failed', reason: 'The console is not built. Run `npm run build` to see the error.' };
  });
  const looked = Promise.race([finished, firstLine(child)]);
  return {
    state: async () => {
      await looked;
      return latest;
    },
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) killGroup(child.pid);
      await ended;
    },
  };
}

function firstLine(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.stdout?.on('data', (text: string) => {
      if (text.includes(STARTED)) resolve();
    });
  });
}
