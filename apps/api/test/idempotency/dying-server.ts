/*
 * The service, made to die of SIGKILL at one moment of the first request that carries an Idempotency-Key, as DIE_AT says:
 * `commit`, when its effect is about to be committed, or `reply`, when its answer is about to go out.
 */
import { Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';

const moment = process.env['DIE_AT'];
let armed = false;
let commits = 0;

type Emitting = (this: Server, event: string | symbol, ...args: unknown[]) => boolean;
const emit = Server.prototype.emit as Emitting;
Server.prototype.emit = function (this: Server, event: string | symbol, ...args: unknown[]) {
  const [req] = args as [{ headers?: Record<string, string> } | undefined];
  if (event === 'request' && req?.headers?.['idempotency-key'] !== undefined) armed = true;
  return emit.call(this, event, ...args);
} as typeof Server.prototype.emit;

const end = ServerResponse.prototype.end;
ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
  if (armed && moment === 'reply') process.kill(process.pid, 'SIGKILL');
  return (end as (...all: unknown[]) => ServerResponse).apply(this, args);
} as typeof end;

// The package's prototypes, whoever loads it.
const SqliteDatabase = createRequire(import.meta.url)('better-sqlite3');
const prepare = SqliteDatabase.prototype.prepare;
SqliteDatabase.prototype.prepare = function (sql: string) {
  const statement = prepare.call(this, sql);
  if (sql !== 'commit') return statement;
  const run = statement.run.bind(statement);
  statement.run = (...args: unknown[]) => {
    // The first one is that of the claim.
    if (armed && moment === 'commit' && (commits += 1) === 2) process.kill(process.pid, 'SIGKILL');
    return run(...args);
  };
  return statement;
};

await import('../../src/main.ts');
