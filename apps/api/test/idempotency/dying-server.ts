/*
 * Runs the service, which kills itself with SIGKILL during the first request with an Idempotency-Key. DIE_AT says when:
 * `commit` is just before the commit of the effect, `reply` is just before the answer is sent.
 */
import { Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';

const moment = process.env['DIE_AT'];
let armed = false;
/** Whether the open transaction contains the effect of the request. */
let isDone = false;

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

// Changes the prototype, which all importers of the package share.
const SqliteDatabase = createRequire(import.meta.url)('better-sqlite3');
const prepare = SqliteDatabase.prototype.prepare;
SqliteDatabase.prototype.prepare = function (sql: string) {
  const statement = prepare.call(this, sql);
  const isEffect = sql.startsWith('insert into "service_accounts"');
  if (sql !== 'commit' && !isEffect) return statement;
  for (const method of ['run', 'all'] as const) {
    const execute = statement[method].bind(statement);
    statement[method] = (...args: unknown[]) => {
      // Earlier commits are those of the claim and of background work.
      if (isDone && moment === 'commit') process.kill(process.pid, 'SIGKILL');
      isDone ||= armed && isEffect;
      return execute(...args);
    };
  }
  return statement;
};

await import('../../src/main.ts');
