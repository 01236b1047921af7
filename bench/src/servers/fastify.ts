import type { AddressInfo } from 'node:net';
import { listProviders } from '@quartermaster/contracts/providers.ts';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { headersOf, settingsFromParent, workOf } from '../floors/floor.ts';
import { serialisationSchema } from '../floors/serialisation-schema.ts';

// The same work behind Fastify, which serialises JSON by the response's schema (fast-json-stringify).
const settings = await settingsFromParent();
const work = workOf(settings);
const headers = headersOf(settings);

const app = fastify({ logger: false });
app.route({
  method: settings.method,
  url: settings.path,
  schema: { response: { 200: serialisationSchema(listProviders.output) } },
  handler: (request: FastifyRequest, reply: FastifyReply) => {
    const key = String(request.headers['x-api-key']);
    const result = work({ key, body: Buffer.alloc(0), path: settings.path });
    if (result === null) return reply.code(401).send();
    // Fastify sets the length itself after serialising the body.
    const flat = headers(0);
    for (let at = 0; at < flat.length; at += 2) {
      const name = flat[at] ?? '';
      if (name.toLowerCase() !== 'content-length') reply.header(name, flat[at + 1]);
    }
    // Set explicitly to Fastify's own serialiser, because otherwise Fastify adds a charset to the media type.
    return reply.serializer(reply.getSerializationFunction('200') as (payload: unknown) => string).send(result);
  },
});
await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port: (app.server.address() as AddressInfo).port });
