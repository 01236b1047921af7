import type { Agent } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Input } from '../isolation/world.ts';
import { contractFaults } from '../support/contract-check.ts';
import { headersOf, type TestServer } from '../support/server.ts';
import { wire } from '../support/wire.ts';
import type { Changes } from './changes.ts';
import { mutated } from './mutations.ts';
import type { OperationRecords, Records } from './records.ts';
import type { Request, RequestBody } from './requests.ts';
import { withKnownIds } from './schema-values.ts';

/** The server and records that requests are sent to. */
export type Stage = { server: TestServer; agent: Agent; records: Records; changes: Changes };

export type Played = { status: number; faults: string[] };

/** Operations that call another server. They store a failure there, so their errors have an effect. */
const ATTEMPTS = new Set(['sync_provider_inventory']);

/** The path of a DELETE that deletes the record of its last parameter. */
const DELETES_RECORD = /\{\w+\}$/;

/** Sends a request. Returns the faults of its answer and of its effects. */
export async function play(
  { server, agent, records, changes }: Stage,
  operation: Operation,
  mine: OperationRecords,
  request: Request,
): Promise<Played> {
  const live = await mine.live(request.record);
  const dead = request.path.includes('dead') ? mine.dead(request.record) : undefined;
  const input = dead ?? live;
  const { target, spoiled } = targetOf(operation, request, input, records);
  const body = bodyOf(request.body, input, records);
  const before = await changes.now();
  const answer = await wire(server.url, {
    method: operation.method,
    target,
    headers: { ...headersOf(mine.credentials[request.caller]), ...request.headers, ...body.headers },
    ...(body.text !== undefined && { body: body.text }),
    agent,
  });
  const { status } = answer;
  const contentType = answer.headers['content-type'] ?? null;
  const parsed = /json/.test(contentType ?? '') && answer.text !== '' ? JSON.parse(answer.text) : answer.text;
  const path = target.replace(/\?.*$/s, '');
  const faults = contractFaults({ method: operation.method, path, status, contentType, body: parsed });
  if (status >= 500) faults.push(`it is answered ${status}`);
  if (answer.headers['x-request-id'] === undefined) faults.push('the answer has no X-Request-Id');
  if (status >= 400 && !ATTEMPTS.has(operation.operationId)) {
    for (const change of await changes.since(before)) faults.push(`it is refused with ${status}, and did: ${change}`);
  }
  if (dead && !spoiled && status < 400) faults.push(`the record was deleted, and the answer is ${status}`);
  if (operation.method === 'DELETE' && status === 200 && DELETES_RECORD.test(operation.path)) mine.buried(input);
  const shown = `${operation.method} ${target} ${body.text ?? ''}`.slice(0, 2000);
  return { status, faults: faults.map((fault) => `${fault}\n${shown}\n${answer.text.slice(0, 1000)}`) };
}

function targetOf(operation: Operation, request: Request, input: Input, records: Records) {
  let spoiled = false;
  let index = 0;
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = request.path[index];
    index += 1;
    if (typeof value !== 'object') return encodeURIComponent(input.path?.[name] ?? '');
    spoiled = true;
    return encoded(value.text);
  });
  const own = request.query.own ? Object.entries(input.query ?? {}) : [];
  const pairs = [...own, ...request.query.more].flatMap(([name, value]) => {
    const real = withKnownIds(value, records.idOf);
    return real === null ? [] : [`${encoded(name)}=${encoded(typeof real === 'string' ? real : JSON.stringify(real))}`];
  });
  return { target: pairs.length === 0 ? path : `${path}?${pairs.join('&')}`, spoiled };
}

/** A lone surrogate has no encoding. It is sent as the bytes that lax encoders write for it. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80';
}

function bodyOf(body: RequestBody, input: Input, records: Records): { text?: string; headers: Record<string, string> } {
  if (body.as === 'none') return { headers: {} };
  const headers: Record<string, string> = body.contentType === '' ? {} : { 'content-type': body.contentType };
  if (body.as === 'text') return { text: body.text, headers };
  const base = 'own' in body.value ? (input.body ?? {}) : withKnownIds(body.value.made, records.idOf);
  return { text: JSON.stringify(mutated(base, body.mutations)), headers };
}
