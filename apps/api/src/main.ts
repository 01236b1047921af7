import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import type { Config } from './config.ts';

// What V8 makes of the modules is kept: half of a start, and memory. Hence the imports that come after it. `npm start`
// says the same by NODE_COMPILE_CACHE, which counts for this file too, and saves what strips types.
enableCompileCache(join(import.meta.dirname, '../../../node_modules/.cache/quartermaster'));
const { DatabaseUnavailableError } = await import('@quartermaster/db/errors.ts');
const { ConfigError, readConfig } = await import('./config.ts');
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
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  } else if (error instanceof DatabaseUnavailableError) {
    process.stderr.write(`DATABASE_URL: the database cannot be used: ${causeOf(error)}\n`);
    process.exitCode = 1;
  } else if (isAddressInUse(error)) {
    process.stderr.write(
      `PORT: ${error.address}:${error.port} is in use. Stop what listens there, or set another PORT.\n`,
    );
    process.exitCode = 1;
  } else throw error;
}

/** The driver's words: they name hosts and users, never passwords. */
function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return String(cause);
  // Of a host with several addresses each attempt has an error of its own.
  return cause.message || (cause instanceof AggregateError ? cause.errors.map(String).join('; ') : cause.name);
}

function isAddressInUse(error: unknown): error is Error & { address: string; port: number } {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error;
}

/** The command finds the server by the same variables. */
function devTokenCommand({ host, port }: Config): string {
  const where = `${host === '127.0.0.1' ? '' : `HOST=${host} `}${port === 8080 ? '' : `PORT=${port} `}`;
  return `${where}npm run --silent dev-token`;
}

function tokenHint(issuer: string | null): string {
  return issuer === null ? 'set QM_OIDC_ISSUER to take bearer tokens' : `from ${issuer}`;
}
