import { isOperation, type Operation } from '@quartermaster/contracts/operation.ts';
import { expect, onTestFinished } from 'vitest';
import { type Answered, type Body, type Credential, startTestServer, type TestServer } from '../support/server.ts';

/** A test server whose clock goes back at the end of each test, so that no test sees where another travelled. */
export type Endpoints = TestServer & {
  /** What the contract promises and no call was answered with yet: `<operationId> <200 or the error's code>`. */
  unseen(): string[];
};

/** A test server that notes which success and which errors of a contract module's operations it answered. */
export async function serverFor(contract: object, ...how: Parameters<typeof startTestServer>): Promise<Endpoints> {
  const server = await startTestServer(...how);
  const operations = Object.values(contract).filter(isOperation);
  const seen = new Set<string>();
  const call: TestServer['call'] = async (method, path, sent) => {
    const answered = await server.call(method, path, sent);
    const operation = operations.find((one) => one.method === method && fits(one, path));
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
    travel(milliseconds) {
      server.travel(milliseconds);
      onTestFinished(() => server.travel(-milliseconds));
    },
    unseen() {
      const promised = operations.flatMap((one) => ['200', ...one.errors].map((code) => `${one.operationId} ${code}`));
      return promised.filter((one) => !seen.has(one));
    },
  };
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
  /** Of the record, with its query. */
  path: string;
  as: Credential;
  operationId: string;
  /** The id that audit events have as their target. */
  target: string;
  /** For each field a value, and what null leaves; fields without `cleared` refuse null. */
  fields: Record<string, { set: unknown; cleared?: unknown }>;
};

/**
 * Expects a PUT to update by presence: what is left out stays, null clears, a value sets; each change is one audit
 * event that names the field and no value; what changes nothing leaves `updatedAt` and the audit as they were.
 */
export async function expectUpdatesByPresence(server: TestServer, updates: Updates): Promise<void> {
  const { path, as, operationId, target, fields } = updates;
  const events = () => auditOf(server, { operation: operationId, target_id: target });
  // Last use is written beside the requests, whenever it comes to it.
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
    if (typeof sent === 'string') expect(JSON.stringify(event)).not.toContain(JSON.stringify(sent));
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
