import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import type { StartMode } from './config.ts';

// What V8 makes of the modules is kept: half of a start, and memory. Hence the imports that come after it. `npm start`
// says the same by NODE_COMPILE_CACHE, which counts for this file too, and saves what strips types.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/quartermaster'));
const { readConfig } = await import('./config.ts');
const { describeFailure } = await import('./failures.ts');
const { readArguments } = await import('./server/arguments.ts');

try {
  const asked = readArguments(process.argv.slice(2));
  if (asked.text === null) await serve(asked.mode);
  else process.stdout.write(asked.text);
} catch (error) {
  const { message, exitCode } = describeFailure(error);
  process.stderr.write(`${message}\n`);
  process.exitCode = exitCode;
}

async function serve(mode: StartMode): Promise<void> {
  const config = readConfig(process.env, mode);
  // Imported after the configuration is read: loading the service takes ten times as long as refusing a bad setting.
  const { giveBackMemory } = await import('./server/give-back-memory.ts');
  const { startServer } = await import('./server/start.ts');
  const { startMessage, writeStartLog } = await import('./server/start-message.ts');
  giveBackMemory();
  const isTerminal = process.stdout.isTTY;
  const server = await startServer(config, { bootstrapKeyToFile: !isTerminal });
  let stopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      stopping = true;
      // Who presses Ctrl-C waits at a terminal: nobody sends requests by turns there.
      server.stop(signal === 'SIGINT' ? 0 : config.shutdownDelayMs).then(
        () => process.exit(0),
        (error: unknown) => {
          process.stderr.write(`${String(error)}\n`);
          process.exit(1);
        },
      );
    });
  }

  // Said last: whoever reads it may send signals from then on.
  if (isTerminal) process.stdout.write(startMessage(server, config));
  else writeStartLog(server, config, process.stdout);
}
