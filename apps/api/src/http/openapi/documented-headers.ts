import type { Operation } from '@quartermaster/contracts/operation.ts';
import { z } from 'zod';

/** The response headers, as the document describes them. */
export const HEADERS = {
  RequestId: {
    description:
      'The id of the request. It is the `X-Request-Id` that the caller sent, if that has 1 to 128 letters, digits, dots, underscores and hyphens; otherwise the service generates an id. Logs and audit events always have an id of the service, and the id that the caller sent.',
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'How many seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 0 },
  },
  Location: { description: 'The URL of the record that the request made or found.', schema: { type: 'string' } },
  WWWAuthenticate: { description: 'The authentication challenge (RFC 6750).', schema: { type: 'string' } },
  Accept: {
    description: 'The media types that the operation reads, separated by commas. Only if the media type was refused.',
    schema: { type: 'string' },
  },
  AcceptEncoding: {
    description: 'The content coding that the operation reads. Only if the Content-Encoding was refused.',
    schema: { type: 'string' },
  },
  ETag: {
    description:
      'A strong entity tag of the record. It is the same in every operation that returns the record. It does not cover `updatedAt`, or fields that change without a decision: times of last use, counts, health, and fields that depend on the clock.',
    schema: { type: 'string' },
  },
  IdempotencyReplayed: {
    description: '`true` if this is the stored answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  RateLimitPolicy: {
    description:
      'The rate limit that applies to the request: its name, its quota in points (`q`) and its window in seconds (`w`). Most requests take one point. Format: draft-ietf-httpapi-ratelimit-headers.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'The remaining points of the rate limit (`r`), and the seconds until the full quota is available again (`t`).',
    schema: { type: 'string' },
  },
} as const;

const IDEMPOTENCY_KEY = {
  transaction:
    'Makes the request safe to repeat. If the same caller repeats the same request with the same key within 24 hours, it is carried out only once, and the first answer is returned again. 422 if the key was used for another request. 409 while the first request is still running. Refusals are not stored. 1 to 255 printable ASCII characters, such as a UUID.',
  lease:
    'Makes the request safe to repeat. If the same caller repeats the same request with the same key within 24 hours, the first answer is returned again. If the service stops after the effect and before it has stored the answer, a repeated request is carried out again, one minute later at the earliest. 422 if the key was used for another request. 409 while the first request is still running. 1 to 255 printable ASCII characters, such as a UUID.',
};

const IdempotencyKeySchema = z.string().min(1).max(257).optional();

/** The request headers. Each is one object, so that operations share one component of the document. */
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
        'The request succeeds only if the record has one of these entity tags (strong comparison), or if the value is `*`. Otherwise the answer is 412 and nothing changes.',
      param: { id: 'IfMatch' },
    }),
  ifNoneMatch: z
    .string()
    .optional()
    .meta({
      description: 'If the record has one of these entity tags, the answer is 304 without a body.',
      param: { id: 'IfNoneMatch' },
    }),
};

/** The request headers that an operation accepts, or undefined if there are none. */
export function headerParametersOf({ method, idempotency, record, ifMatch }: Operation): z.ZodObject | undefined {
  const shape = {
    ...(idempotency !== 'none' && { 'Idempotency-Key': PARAMETERS.idempotencyKey[idempotency] }),
    ...(ifMatch && { 'If-Match': PARAMETERS.ifMatch }),
    ...(method === 'GET' && record && { 'If-None-Match': PARAMETERS.ifNoneMatch }),
  };
  return Object.keys(shape).length > 0 ? z.object(shape) : undefined;
}

/** References to the response headers of an operation, for one status. */
export function responseHeadersOf(
  { idempotency, record }: Operation,
  status: number,
): Record<string, { $ref: string }> {
  const names: Record<string, keyof typeof HEADERS> = {
    'X-Request-Id': 'RequestId',
    'RateLimit-Policy': 'RateLimitPolicy',
    RateLimit: 'RateLimit',
  };
  if (status === 201 || status === 202) names.Location = 'Location';
  if (record && status < 400) names.ETag = 'ETag';
  if (idempotency !== 'none' && status === 200) names['Idempotency-Replayed'] = 'IdempotencyReplayed';
  if (status === 401 || status === 403) names['WWW-Authenticate'] = 'WWWAuthenticate';
  if (status === 415) Object.assign(names, { Accept: 'Accept', 'Accept-Encoding': 'AcceptEncoding' });
  const hasRetryAfter =
    status === 202 || status === 429 || status === 503 || (status === 409 && idempotency !== 'none');
  if (hasRetryAfter) names['Retry-After'] = 'RetryAfter';
  return Object.fromEntries(
    Object.entries(names).map(([header, name]) => [header, { $ref: `#/components/headers/${name}` }]),
  );
}
