import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { AnyTRPCProcedure } from '@trpc/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Principal } from '../../src/access/principal.ts';
import { ApiError, ValidationFailure } from '../../src/errors.ts';
import { procedureRunner } from '../../src/http/run-procedure.ts';
import { procedures } from '../../src/router.ts';
import type { Context } from '../../src/trpc.ts';
import { makeRecords, OPERATIONS } from '../support/records.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { widgets } from './widgets.ts';

let server: TestServer;
let records: Record<string, string>;

beforeAll(async () => {
  // Nothing happens between one call and the other.
  server = await startTestServer({}, { noHousekeeping: true });
  records = await makeRecords(server);
  server.freeze();
});
afterAll(() => server.stop());

const ADMIN: Principal = {
  kind: 'service_account',
  id: 'bootstrap',
  tenantId: 'default',
  scheme: 'api_key',
  keyId: null,
  keyExpiresAt: null,
  platformAdministrator: true,
  platformScopes: ['*'],
  grants: [{ tenantId: 'default', subTenantId: null, scopes: ['*'] }],
  termsAccepted: true,
};

/** What comes of a call: the answer, or all that a refusal says. */
async function outcome(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.problem(''), headers: error.headers, code: error.code };
    if (error instanceof ValidationFailure) return { invalid: error.details };
    return { failed: String(error), cause: String((error as Error).cause), name: (error as Error).constructor.name };
  }
}

/** Both ways to call a procedure, one after the other. */
async function bothWays(procedure: AnyTRPCProcedure, ctx: Partial<Context>, raw: unknown) {
  const context = { services: server.services, requestId: 'r', address: '127.0.0.1', principal: ADMIN, ...ctx };
  const { type } = procedure._def;
  const plain = () =>
    procedure({
      ...{ ctx: context, getRawInput: async () => raw, path: 'p', type, signal: undefined, batchIndex: 0 },
    }) as Promise<unknown>;
  const run = procedureRunner(procedure, { path: 'p', checkAnswers: false });
  return [await outcome(() => run({ ctx: context, raw })), await outcome(plain)];
}

/** A tenant takes an empty body, and gets an id of its own each time. */
function withoutIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(/ten_[0-9a-z]{26}/g, 'ten_'));
}

function pathOf(operation: Operation, values: Record<string, string> | 'none'): Record<string, string> {
  const names = Object.keys(operation.params?.shape ?? {});
  return Object.fromEntries(names.map((name) => [name, values === 'none' ? 'none' : (values[name] ?? 'none')]));
}

test.each(OPERATIONS.map((one) => [one.procedure, one] as const))(
  'the runner does what the plain call does: %s',
  async (_name, { operation, procedure: name, type }) => {
    const procedure = procedures[name] as AnyTRPCProcedure;
    const nowhere = { path: pathOf(operation, 'none'), query: {}, body: {} };
    const cases: [Partial<Context>, unknown][] = [
      [{ principal: null }, nowhere],
      [{ principal: { ...ADMIN, platformAdministrator: false, platformScopes: [], grants: [] } }, nowhere],
      [{ refused: new ApiError('credentials_invalid', 'The token is not valid.') }, nowhere],
      [{}, undefined],
      [{}, { path: 5, query: { limit: 'x', cursor: 5 }, body: { tenantId: 5, unknown: true } }],
      [{}, { ...nowhere, query: { limit: 0 }, body: 'text\0' }],
    ];
    // A write would not be the same the second time.
    if (type === 'query') cases.push([{}, { path: pathOf(operation, records), query: {} }]);
    else if (Object.keys(nowhere.path).length > 0) cases.push([{}, nowhere]);
    for (const [ctx, raw] of cases) {
      const [run, plain] = await bothWays(procedure, ctx, raw);
      expect(withoutIds(run)).toEqual(withoutIds(plain));
    }
  },
);

test('of the steps that tRPC itself adds the runner knows each', () => {
  const all = Object.values(procedures).flatMap(
    ({ _def }) => (_def as unknown as { middlewares: { _type?: string }[] }).middlewares,
  );
  expect(new Set(all.map(({ _type }) => _type))).toEqual(new Set(['output', 'input', undefined]));
});

test('an answer that the schema refuses or changes fails where answers are checked, and not where they are not', async () => {
  const procedure = widgets._def.procedures.break as AnyTRPCProcedure;
  const call = {
    ctx: { services: server.services, requestId: 'r', address: '', principal: ADMIN },
    raw: { path: { widget_id: 'output' } },
  };
  const ways = [true, false].map((checkAnswers) => procedureRunner(procedure, { path: 'p', checkAnswers }));
  const [checked, unchecked] = await Promise.all(ways.map((run) => outcome(() => run(call))));
  expect(checked).toMatchObject({ name: 'TRPCError', failed: 'TRPCError: Output validation failed' });
  expect(unchecked).toEqual({ answer: { ok: 'hunter2' } });
});
