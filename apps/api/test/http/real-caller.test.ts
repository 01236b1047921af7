// REST and tRPC call procedures as tRPC does, so middlewares that are added to them run.
import { initTRPC } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../src/platform/errors.ts';
import type { Endpoint } from '../../src/http/endpoint.ts';
import type { TrpcContext } from '../../src/http/trpc.ts';
import { send, serve } from './server.ts';
import { widgets } from './widgets.ts';

const t = initTRPC.context<TrpcContext>().meta<OpenApiMeta<{ endpoint: Endpoint }>>().create();

test('a middleware of a procedure runs over REST and over tRPC, before the pipeline, and sees its output', async () => {
  const seen: unknown[] = [];
  const { meta } = widgets.get._def as unknown as { meta: { endpoint: Endpoint } };
  const get = t.procedure
    .meta(meta)
    .use(async ({ path, next }) => {
      seen.push(path);
      const result = await next();
      if (result.ok) seen.push(result.data);
      return result;
    })
    .input(z.looseObject({ widget_id: z.string().prefault('') }).prefault({}))
    .output(z.unknown())
    .query(({ ctx }) => ctx.run(meta.endpoint));
  const server = await serve({ router: t.router({ get }) });
  const output = { path: { widget_id: 'w1' } };
  expect((await send(server, '/v1/widgets/w1')).body).toEqual(output);
  expect(seen).toEqual(['get', output]);
  const input = encodeURIComponent(JSON.stringify({ path: { widget_id: 'w1' } }));
  expect((await send(server, `/trpc/get?input=${input}`)).body).toEqual({ result: { data: output } });
  expect(seen).toEqual(['get', output, 'get', output]);
});

test('a middleware that refuses is answered with its error', async () => {
  const { meta } = widgets.create._def as unknown as { meta: { endpoint: Endpoint } };
  const create = t.procedure
    .meta(meta)
    .use(() => {
      throw new ApiError('rate_limited', 'Slow down.');
    })
    .input(z.looseObject({}))
    .output(z.unknown())
    .mutation(({ ctx }) => ctx.run(meta.endpoint));
  const server = await serve({ router: t.router({ create }) });
  const answer = await send(server, '/v1/widgets', { body: '{' });
  expect([answer.status, answer.body.code, answer.body.detail]).toEqual([429, 'rate_limited', 'Slow down.']);
});
