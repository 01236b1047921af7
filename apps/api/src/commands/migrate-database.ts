/** The program behind `npm run migrate-database`. */
import { processInvocation } from './run-command.ts';
import { runMigrateDatabase } from './run-migrate-database.ts';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());
process.exitCode = await runMigrateDatabase({ ...processInvocation(), signal: interrupted.signal });
