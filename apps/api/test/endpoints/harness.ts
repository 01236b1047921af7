import { isOperation, type Operation } from '@quartermaster/contracts/operation.ts';
import { countedRecordBytes, recomputedRecordBytes } from '@quartermaster/db/testing/record-bytes.ts';
import { afterAll, expect, onTestFinished, type RunnerTestSuite } from 'vitest';
import { keptValues } from '../../src/platform/audit/kept-values.ts';
import { OPERATIONS } from '../support/records.ts';
import { type Answered, type Body, type Credential, startTestServer, type TestServer } from '../support/server.ts';

/** A test server that records which answers of a contract the tests saw. */
export type Endpoints = TestServer & {
  /** Starts another server for one test. Its answers count towards the same coverage. */
  startSibling(environment: Record<string, string>): Promise<Endpoints>;
  /**
   * The answers that no test has seen yet, of those that the contract declares and of some more. An answer is
   * `<operationId> <200 or the error's code>`.
   */
  unseen(more: readonly string[]): string[];
};

/** tenant-usage.test.ts tests this error for every operation that declares it. */
const SHARED_ERROR = 'tenant_limit_reached';

/** Paths with fewer parameters first: `search` in `/v1/service-accounts/search` is not an id. */
const ALL_OPERATIONS = OPERATIONS.map(({ operation }) => operation).toSorted(
  (a, b) => parametersOf(a) - parametersOf(b),
);

function parametersOf({ path }: Operation): number {
  return path.split('{').length - 1;
}

/** A test server that records which success and which errors of the operations it answered. */
export async function serverFor(contract: object, ...how: Parameters<typeof startTestServer>): Promise<Endpoints> {
  return recordAnswers(Object.values(contract).filter(isOperation), new Set(), await startTestServer(...how));
}

/** @param seen every answer so far, as `<operationId> <200 or the error's code>`; shared by sibling servers */
function recordAnswers(operations: Operation[], seen: Set<string>, server: TestServer): Endpoints {
  const call: TestServer['call'] = async (method, path, sent) => {
    const answered = await server.call(method, path, sent);
    const operation = ALL_OPERATIONS.find((one) => one.method === method && fits(one, path));
    const code = answered.status === 200 ? '200' : String(answered.body?.code);
    if (operation) seen.add(`${operation.operationId} ${code}`);
    return answered;
  };
  return {
    ...server,
    call,
    async ok(method, path, sent) {
      const answered = await call(method, path, sent);
      expect(answered.status, `${method} ${path}: ${answered.text}`).toBe(200);
      return answered.body;
    },
    async startSibling(environment) {
      const sibling = await startTestServer(environment);
      onTestFinished(() => sibling.stop());
      return recordAnswers(operations, seen, sibling);
    },
    unseen(more) {
      const errorsOf = (one: Operation) => one.errors.filter((code) => code !== SHARED_ERROR);
      const declared = operations.flatMap((one) =>
        ['200', ...errorsOf(one)].map((code) => `${one.operationId} ${code}`),
      );
      return [...declared, ...more].filter((answer) => !seen.has(answer));
    },
  };
}

/**
 * Stops the server after the tests of a file, then fails the file unless they saw every answer that its contract declares.
 *
 * @param more answers of other contracts that they have to see as well
 */
export function checkCoverageAfterAll(server: () => Endpoints, more: readonly string[] = []): void {
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the parameter's pattern, and accepts no other
  afterAll(async ({}, file) => {
    const { db } = server().services;
    const [counted, recomputed] = [await countedRecordBytes(db), await recomputedRecordBytes(db)];
    await server().stop();
    expect(counted, 'the bytes of records that the triggers counted').toEqual(recomputed);
    // If a test failed or was filtered out, a missing answer proves nothing.
    if (!everyTestPassed(file)) return;
    const unseen = server().unseen(more);
    if (unseen.length > 0) throw new Error(`${file.name}: no test saw these answers: ${unseen.join(', ')}`);
  });
}

function everyTestPassed({ tasks }: Readonly<RunnerTestSuite>): boolean {
  return tasks.every((task) => (task.type === 'suite' ? everyTestPassed(task) : task.result?.state === 'pass'));
}

function fits(operation: Operation, path: string): boolean {
  const segments = (path.split('?')[0] ?? '').split('/');
  const parts = operation.path.split('/');
  return parts.length === segments.length && parts.every((part, at) => part.startsWith('{') || part === segments[at]);
}

/** Expects a refusal by its code, with its status. */
export function expectProblem(answered: Answered, status: number, code: string): void {
  expect([answered.status, answered.body?.code], answered.text).toEqual([status, code]);
}

/** Expects 422 with exactly these faults, in any order. */
export function expectInvalid(answered: Answered, ...faults: { loc: (string | number)[]; type: string }[]): void {
  expect(answered.status, answered.text).toBe(422);
  const found = (answered.body.detail as Body[]).map(({ loc, type }) => ({ loc, type }));
  expect(found).toHaveLength(faults.length);
  expect(found).toEqual(expect.arrayContaining(faults));
}

/** Expects a record to have every field of a list of names. */
export function expectFields(record: object, names: string): void {
  expect(Object.keys(record)).toEqual(expect.arrayContaining(names.split(/[\s,]+/)));
}

/** Audit events by filter, newest first, as a platform administrator sees them. */
export async function auditOf(server: TestServer, filter: Record<string, string>): Promise<Body[]> {
  const query = new URLSearchParams({ limit: '100', ...filter });
  return (await server.ok('GET', `/v1/audit-events?${query.toString()}`, { as: server.admin })).items;
}

type Updates = {
  /** The path of the record, with its query. */
  path: string;
  as: Credential;
  operationId: string;
  /** The id that audit events have as their target. */
  target: string;
  /** For each field a new value, and the value after null. Fields without `cleared` refuse null. */
  fields: Record<string, { set: unknown; cleared?: unknown }>;
};

/**
 * Expects a PUT to update by presence: an absent field stays, null clears, a value sets. Each change is one audit event,
 * which names the field, and has its value only if the audit keeps it. A request that changes nothing leaves `updatedAt` and the audit as they were.
 */
export async function expectUpdatesByPresence(server: TestServer, updates: Updates): Promise<void> {
  const { path, as, operationId, target, fields } = updates;
  const events = () => auditOf(server, { operation: operationId, target_id: target });
  // The time of last use is written asynchronously.
  const put = async (body: object) => ({ ...(await server.ok('PUT', path, { as, body })), lastUsedAt: undefined });
  let record = await put({});
  const step = async (field: string, sent: unknown, expected: unknown) => {
    const known = (await events()).length;
    server.travel(1000);
    const updated = await put({ [field]: sent });
    expect(updated).toEqual({ ...record, [field]: expected, updatedAt: expect.any(String) });
    expect(updated.updatedAt > record.updatedAt).toBe(true);
    const [event, ...older] = await events();
    expect(older).toHaveLength(known);
    expect(event).toMatchObject({ outcome: 'success', changedFields: [field], count: 1 });
    // Only `changes` has values, and only those that the audit keeps.
    // The name of the target is not kept: it is read from the record.
    const { changes, target: _, ...named } = event;
    expect(changes).toEqual(keptValues({ fields: [field], before: record, after: updated }));
    if (typeof sent === 'string') expect(JSON.stringify(named)).not.toContain(JSON.stringify(sent));
    server.travel(1000);
    expect(await put({ [field]: sent })).toEqual(updated);
    expect(await put({})).toEqual(updated);
    expect(await events()).toHaveLength(known + 1);
    record = updated;
  };
  for (const [field, { set }] of Object.entries(fields)) await step(field, set, set);
  for (const [field, rules] of Object.entries(fields)) {
    if ('cleared' in rules) await step(field, null, rules.cleared);
    else expect((await server.call('PUT', path, { as, body: { [field]: null } })).status).toBe(422);
  }
}
