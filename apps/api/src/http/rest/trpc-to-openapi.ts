import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { stringifyWithStoredJson } from '@quartermaster/db/stored-json.ts';
import { initTRPC } from '@trpc/server';
import { createOpenApiNodeHttpHandler, type OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';
import { sendText } from './send.ts';

/**
 * This file adapts trpc-to-openapi for requests; `../openapi/openapi.ts` adapts it for the document.
 *
 * What the library does: it serves a tRPC procedure at a REST path, and writes its output as JSON. What it cannot do, so
 * that the pipeline does it instead:
 * - It coerces the schemas that it sees and merges path, query and body into one input. Names could collide, and a 422 could
 *   not say where a value stood. So it sees a stand-in procedure with the path's parameters alone.
 * - It matches routes case-insensitively, and words errors in its own form. So the route table matched the path before,
 *   and errors are written by `send.ts`.
 * - It knows no 304, no ETag and no stored JSON. So its response is a stand-in, too, that writes ours.
 */
export type RestAnswer = {
  req: IncomingMessage;
  res: ServerResponse;
  output: unknown;
  notModified: boolean;
  /** Called with the size of the answer before it is sent. It may refuse the answer by throwing. */
  hold: (bytes: number) => void;
};

/** Makes the function that writes an operation's answers through trpc-to-openapi. */
export function restAnswerer(operation: Operation): (answer: RestAnswer) => Promise<void> {
  let handle: ReturnType<typeof handlerOf> | undefined;
  const request = standInRequest(operation);
  return async (answer) => {
    // Made at the first call: outside production the library builds a document for each handler, which dominates start-up.
    handle ??= handlerOf(operation);
    // Otherwise the library would answer errors in its own format.
    const json = answer.notModified ? '' : stringifyWithStoredJson(answer.output);
    answer.hold(Buffer.byteLength(json));
    await handle(request as never, new StandInResponse(answer, json) as never, undefined);
  };
}

function handlerOf(operation: Operation) {
  const t = initTRPC.meta<OpenApiMeta>().create();
  const names = Object.keys(operation.params?.shape ?? {});
  const standIn = t.procedure
    .meta({ openapi: { method: operation.method, path: operation.path as `/${string}` } })
    .input(z.object(Object.fromEntries(names.map((name) => [name, z.string()]))))
    .output(z.unknown())
    .mutation(() => null);
  const router = t.router({ standIn });
  // tRPC's own caller takes 12 us to call a procedure that does nothing.
  const createCaller = () => ({ standIn: async () => null });
  return createOpenApiNodeHttpHandler({ router: { ...router, createCaller } });
}

/**
 * What the library reads of a request: the path's template, which matches itself. The prototype is that of a fetch Request,
 * because the library converts all other objects.
 */
function standInRequest(operation: Operation): Request {
  const members = {
    method: operation.method,
    url: operation.path,
    headers: new Headers({ 'content-type': 'application/json' }),
    query: {},
    body: {},
    signal: new AbortController().signal,
  };
  return Object.create(Request.prototype, Object.getOwnPropertyDescriptors(members));
}

/** What the library writes to a response. */
class StandInResponse {
  readonly #answer: RestAnswer;
  readonly #json: string;
  statusCode = 200;

  constructor(answer: RestAnswer, json: string) {
    this.#answer = answer;
    this.#json = json;
  }

  setHeader(name: string, value: string): void {
    this.#answer.res.setHeader(name, value);
  }

  end(): void {
    const { req, res, notModified } = this.#answer;
    if (notModified) {
      res.removeHeader('Content-Type');
      res.statusCode = 304;
      res.end();
    } else {
      res.statusCode = this.statusCode;
      sendText(req, res, this.#json);
    }
  }
}
