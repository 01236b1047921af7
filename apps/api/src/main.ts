import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import type { Config } from './config.ts';

// What V8 makes of the modules is kept: half of a start, and memory. Hence the imports that come after it. `npm start`
// says the same by NODE_COMPILE_CACHE, which counts for this file too, and saves what strips types.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/quartermaster'));
const { readConfig } = await import('./config.ts');
const { reportFailure } = await import('./failures.ts');
const { giveBackMemory } = await import('./server/give-back-memory.ts');
const { startServer } = await import('./server/start.ts');

try {
  const config = readConfig(process.env);
  giveBackMemory();
  const server = await startServer(config);
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
  const lines = [
    `Quartermaster listens on ${server.url}`,
    `API reference:     ${server.publicUrl}/docs`,
    `bearer token:      ${config.devIdentity ? devTokenCommand(config) : tokenHint(server.services.issuer)}`,
  ];
  if (server.bootstrapKey !== null) lines.push(`bootstrap API key: ${server.bootstrapKey}`);
  process.stdout.write(`${lines.join('\n')}\n`);
} catch (error) {
  reportFailure(error);
}

/** The command finds the server by the same variables. */
function devTokenCommand({ host, port }: Config): string {
  const where = `${host === '127.0.0.1' ? '' : `HOST=${host} `}${port === 8080 ? '' : `PORT=${port} `}`;
  return `${where}npm run --silent dev-token`;
}

function tokenHint(issuer: string | null): string {
  return issuer === null ? 'set QM_OIDC_ISSUER to take bearer tokens' : `from ${issuer}`;
}
