import { readConfig, type StartMode } from '../config.ts';

/**
 * A second signal ends the process at once, but not within this time after the first, in milliseconds. A terminal sends Ctrl-C to
 * npm and to the server, and npm forwards its own to the server.
 */
const SAME_SIGNAL_MS = 1000;

/** Serves until a signal ends the process. @throws {ConfigError} for a wrong setting, and other errors of the start */
export async function runServer(mode: StartMode): Promise<void> {
  const config = readConfig(process.env, mode);
  // Imported after reading the configuration: loading the service takes ten times as long as reporting a wrong setting.
  const { openConsole } = await import('../server/console/build.ts');
  const { startServer } = await import('../server/start.ts');
  const { terminalLog } = await import('../server/terminal-log.ts');
  const { startMessage, writeStartLog } = await import('../server/start-message.ts');
  // Returns the memory that loading the modules took: 147 MB at rest instead of 256. `scripts/server.sh` exposes `gc`. It is called
  // before serving requests, because it blocks for some tens of milliseconds.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  const isTerminal = process.stdout.isTTY;
  const server = await startServer(config, {
    bootstrapKeyToFile: !isTerminal,
    ...(isTerminal && !config.hasLogLevel && { log: terminalLog() }),
    ...(config.console && { openConsole }),
  });
  let stoppingSince: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stoppingSince !== null) {
        if (performance.now() - stoppingSince < SAME_SIGNAL_MS) return;
        process.exit(1);
      }
      stoppingSince = performance.now();
      // Ctrl-C comes from a terminal, where there is no load balancer to wait for.
      server.stop(signal === 'SIGINT' ? 0 : config.shutdownDelayMs).then(
        () => process.exit(0),
        (error: unknown) => {
          process.stderr.write(`${String(error)}\n`);
          process.exit(1);
        },
      );
    });
  }

  // Last, because a supervisor that reads it may send signals from then on.
  if (isTerminal) process.stdout.write(startMessage(server, config));
  else writeStartLog(server, config, process.stdout);
}
