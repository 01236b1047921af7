import { z } from 'zod';
import { IdentifierSchema, NameSchema, TimestampSchema, tenancyFields, tenancyQueryFields } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';
import { ServiceAccountStatusSchema, UnreadScopeSchema } from './service-accounts.ts';

/** The most keys of an account that are counted separately. */
export const MAX_TELEMETRY_KEYS = 10;

/** The most problems of a key that are shown. */
export const MAX_PROBLEMS = 20;

const REASONS = {
  credentials_invalid: 'The key was revoked or has expired, or its account is disabled (401).',
  key_secret_wrong:
    'The id of the key is right, and its secret is not: it was cut off or mistyped (401). An id is not secret, so someone else may have sent it.',
  scope_missing: 'The key lacks the scope `traces:write` (403).',
  ingest_tenant_ambiguous: 'The credential belongs to several tenants (403).',
  rate_limited: 'Too many requests, or too much telemetry at once (429).',
  tenant_limit_reached: 'A limit of the tenant is reached (409).',
  body_too_large: 'The body is larger than the server accepts (413).',
  media_type_unsupported:
    'The body is neither protobuf nor JSON, or is compressed in another way than gzip, deflate or zstd (415).',
  request_malformed: 'The body could not be decompressed or decoded (400).',
  server_failed: 'The server or its database was not ready, or failed (5xx).',
  records_rejected: 'Some records of an accepted request were rejected, as its partial success says.',
  metrics_dropped:
    'Metric data points were received and dropped. Calls and tokens are read from spans and log records.',
  other: 'Another reason, which `detail` says.',
} as const;

export const TelemetryProblemReasonSchema = z
  .enum(Object.keys(REASONS) as [keyof typeof REASONS, ...(keyof typeof REASONS)[]])
  .meta({
    id: 'TelemetryProblemReason',
    description: [
      'Why telemetry was refused or dropped.',
      '',
      ...Object.entries(REASONS).map(([reason, meaning]) => `- \`${reason}\`: ${meaning}`),
    ].join('\n'),
  });
export type TelemetryProblemReason = z.infer<typeof TelemetryProblemReasonSchema>;

const TelemetryProblemSchema = z
  .strictObject({
    reason: TelemetryProblemReasonSchema,
    requests: z.int().describe('How many requests had this problem, including retries.'),
    records: z
      .int()
      .describe('How many records they contained, as far as it is known: 0 for requests that were not read.'),
    detail: z.string().nullable().describe('What the answer to the last of these requests said.'),
    fix: z.string().describe('What to do about it, for people.'),
    since: TimestampSchema.describe('When the first of them was received.'),
    lastAt: TimestampSchema.describe('When the last of them was received, accurate to the minute.'),
  })
  .meta({ id: 'TelemetryProblem', description: 'Telemetry that was refused or dropped for one reason.' });

const KeyTelemetrySchema = z
  .strictObject({
    keyId: z
      .string()
      .nullable()
      .describe('The id of the API key. Null: the sum of the keys that are no longer counted separately.'),
    spans: z.int().describe('How many spans were received, including retries.'),
    logRecords: z.int().describe('How many log records were received, including retries.'),
    understood: z.int().describe('How many of them report the use of a model, tool or agent.'),
    notUnderstood: z.int().describe('How many of them do not.'),
    lastReceivedAt: TimestampSchema.nullable().describe(
      'When spans or log records were last received, accurate to the minute. Null: never.',
    ),
    lastUnderstoodAt: TimestampSchema.nullable().describe('When one of them was last understood. Null: never.'),
    fix: z
      .string()
      .nullable()
      .describe('What to do if nothing was understood, for people. Null if nothing has to be done.'),
    unread: z
      .array(
        UnreadScopeSchema.extend({
          lastReceivedAt: TimestampSchema.describe('When the last of them was received.'),
        }).meta({
          id: 'UnreadScopeOfKey',
          description: 'An instrumentation scope in which no model, tool or agent was found.',
        }),
      )
      .max(10)
      .describe('The instrumentation scopes of which nothing was understood, busiest first, at most 10.'),
    problems: z
      .array(TelemetryProblemSchema)
      .max(MAX_PROBLEMS)
      .describe('What was refused or dropped, by reason. The last problem comes first.'),
  })
  .meta({ id: 'KeyTelemetry', description: 'The telemetry that was sent with one API key.' });
export type KeyTelemetry = z.infer<typeof KeyTelemetrySchema>;

const TelemetryHealthSchema = z
  .strictObject({
    serviceAccountId: IdentifierSchema,
    ...tenancyFields,
    name: NameSchema,
    status: ServiceAccountStatusSchema,
    keys: z
      .array(KeyTelemetrySchema)
      .max(MAX_TELEMETRY_KEYS + 1)
      .describe(
        'The keys that telemetry was sent with. The key that sent last comes first. The 10 keys that sent last are counted separately. Empty if the account never sent telemetry.',
      ),
  })
  .meta({
    id: 'TelemetryHealth',
    description: 'What a service account sent, what was understood of it, and what was refused.',
  });
export type TelemetryHealth = z.infer<typeof TelemetryHealthSchema>;

export const listTelemetryHealth = operation({
  method: 'GET',
  path: '/v1/telemetry-health',
  operationId: 'list_telemetry_health',
  scope: 'credentials:read',
  tag: 'Traces',
  summary: 'List telemetry health',
  description:
    'Says for each service account and API key what telemetry was received, what was understood of it, what was refused or dropped, and what to do about it. Accounts that never sent telemetry are listed without keys. The newest account comes first. Requests whose key has an unknown id belong to no account, so they are not listed: the server log has their address. Counts are written once a minute; with `service_account_id` or `key_id` the counts of the process that answers are written first. A page ends early if it would exceed 1 MiB.',
  query: {
    ...tenancyQueryFields,
    service_account_id: z.string().min(1).max(128).nullish().describe('Only the accounts with this id.'),
    key_id: z.string().min(1).max(128).nullish().describe('Only the account of this API key, and only this key.'),
    ...pageFields,
  },
  output: page('TelemetryHealthPage', TelemetryHealthSchema),
});
