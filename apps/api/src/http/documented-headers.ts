import type { Operation } from '@quartermaster/contracts/operation.ts';
import { z } from 'zod';

/** The response headers of the document. */
export const HEADERS = {
  RequestId: { description: 'Names this request in logs and audit events.', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer', minimum: 0 } },
  WWWAuthenticate: { description: 'The challenge of RFC 6750.', schema: { type: 'string' } },
  ETag: {
    description:
      'The state of the record, strong and the same everywhere. It leaves out `updatedAt` and what nobody decides about: when it was last used or seen, counts, health, what follows from the clock.',
    schema: { type: 'string' },
  },
  IdempotencyReplayed: {
    description: '`true` where the answer is that of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
  RateLimitPolicy: {
    description:
      'The limit that the request counted against: its name, requests (`q`) and seconds (`w`). draft-ietf-httpapi-ratelimit-headers.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'What is left of it: requests (`r`), and the seconds until they are all back (`t`).',
    schema: { type: 'string' },
  },
} as const;

const IDEMPOTENCY_KEY = {
  transaction:
    'Names this very request: sent again with the same key by the same caller within 24 hours, it is answered as it was the first time, and done once. 422 for a key that was used for another request, 409 while the first one is in flight. Refusals are not kept. 1 to 255 characters of printable ASCII; a UUID will do.',
  lease:
    'Names this very request: sent again with the same key by the same caller within 24 hours, it is answered as it was the first time. Where the service ended between the effect and the answer, it is done again, a minute later at the earliest. 422 for a key that was used for another request, 409 while the first one is in flight. 1 to 255 characters of printable ASCII; a UUID will do.',
};

const IdempotencyKeySchema = z.string().min(1).max(257).optional();

/** Shared by the operations that take them: components of the document. */
const PARAMETERS = {
  idempotencyKey: {
    transaction: IdempotencyKeySchema.meta({
      description: IDEMPOTENCY_KEY.transaction,
      param: { id: 'IdempotencyKey' },
    }),
    lease: IdempotencyKeySchema.meta({ description: IDEMPOTENCY_KEY.lease, param: { id: 'IdempotencyKeyOfSync' } }),
  },
  ifMatch: z
    .string()
    .optional()
    .meta({
      description:
        'The request succeeds only if the record has one of these entity tags, by the strong comparison. `*` matches any state. Otherwise the answer is 412, and nothing changes.',
      param: { id: 'IfMatch' },
    }),
  ifNoneMatch: z
    .string()
    .optional()
    .meta({
      description: 'The answer is 304 if the record has one of these entity tags.',
      param: { id: 'IfNoneMatch' },
    }),
};

/** The request headers that an operation takes; undefined: none. */
export function headerParametersOf({ method, idempotency, record, ifMatch }: Operation): z.ZodObject | undefined {
  const shape = {
    ...(idempotency !== 'none' && { 'Idempotency-Key': PARAMETERS.idempotencyKey[idempotency] }),
    ...(ifMatch && { 'If-Match': PARAMETERS.ifMatch }),
    ...(method === 'GET' && record && { 'If-None-Match': PARAMETERS.ifNoneMatch }),
  };
  return Object.keys(shape).length > 0 ? z.object(shape) : undefined;
}

/** The response headers of one status of an operation. */
export function responseHeadersOf(
  { idempotency, record }: Operation,
  status: number,
): Record<string, { $ref: string }> {
  const names: Record<string, keyof typeof HEADERS> = {
    'X-Request-Id': 'RequestId',
    'RateLimit-Policy': 'RateLimitPolicy',
    RateLimit: 'RateLimit',
  };
  if (record && status < 400) names.ETag = 'ETag';
  if (idempotency !== 'none' && status === 200) names['Idempotency-Replayed'] = 'IdempotencyReplayed';
  if (status === 401 || status === 403) names['WWW-Authenticate'] = 'WWWAuthenticate';
  const waits = status === 429 || status === 503 || (status === 409 && idempotency !== 'none');
  if (waits) names['Retry-After'] = 'RetryAfter';
  return Object.fromEntries(
    Object.entries(names).map(([header, name]) => [header, { $ref: `#/components/headers/${name}` }]),
  );
}
