import { type Served } from '../support/records.ts';
import { type Credential, exchange, headersOf, type TestServer } from '../support/server.ts';
import type { Input } from './world.ts';

export type Answer = { status: number; text: string };
export type Transport = 'REST' | 'tRPC';

/** All requests have the same id, so that answers can be compared byte for byte. */
const REQUEST_ID = 'isolation';

/** Calls an operation over REST or tRPC. @param as null: without credentials */
export async function callOver(
  transport: Transport,
  server: TestServer,
  served: Served,
  { input, as }: { input: Input; as: Credential },
): Promise<Answer> {
  const { url, method, body } = transport === 'REST' ? restRequest(served, input) : trpcRequest(served, input);
  const { status, text } = await exchange(server.url + url, {
    method,
    headers: {
      'x-request-id': REQUEST_ID,
      ...headersOf(as),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status, text };
}

function restRequest({ operation }: Served, { path = {}, query = {}, body }: Input) {
  const pathname = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return { url: search === '' ? pathname : `${pathname}?${search}`, method: operation.method, body };
}

function trpcRequest({ procedure, type }: Served, input: Input) {
  if (type === 'mutation') return { url: `/trpc/${procedure}`, method: 'POST', body: input };
  return {
    url: `/trpc/${procedure}?input=${encodeURIComponent(JSON.stringify(input))}`,
    method: 'GET',
    body: undefined,
  };
}
