import { z } from 'zod';
import { LookupIdSchema, TimestampSchema } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

/** A session of the web console ends after this many hours without a request, and after this many hours in any case. */
export const CONSOLE_IDLE_HOURS = 2;
export const CONSOLE_MAX_HOURS = 12;

export const ConsoleSessionSchema = z
  .strictObject({
    id: z.string(),
    userAgent: z
      .string()
      .nullable()
      .describe('The `User-Agent` that the browser sent when the user signed in, at most 300 characters.'),
    current: z.boolean().describe('Whether this request was made with this session.'),
    createdAt: TimestampSchema.describe('When the user signed in.'),
    lastUsedAt: TimestampSchema.describe('When the session was last used, accurate to the minute.'),
    expiresAt: TimestampSchema.describe(
      `When the session ends at the latest: ${CONSOLE_MAX_HOURS} hours after the sign-in. It ends earlier if there is no request for ${CONSOLE_IDLE_HOURS} hours.`,
    ),
  })
  .meta({ id: 'ConsoleSession', description: 'A browser that is signed in to the web console.' });
export type ConsoleSession = z.infer<typeof ConsoleSessionSchema>;

const tag = 'Users';

export const listMySessions = operation({
  method: 'GET',
  path: '/v1/me/sessions',
  operationId: 'list_my_sessions',
  scope: null,
  allowedBeforeTerms: true,
  tag,
  summary: 'List your console sessions',
  description:
    'Lists the browsers in which the caller is signed in to the web console, newest first. The list is empty for a service account. No scope is needed.',
  query: pageFields,
  output: page('ConsoleSessionPage', ConsoleSessionSchema),
});

export const revokeMySession = operation({
  method: 'DELETE',
  path: '/v1/me/sessions/{session_id}',
  operationId: 'revoke_my_session',
  scope: null,
  allowedBeforeTerms: true,
  tag,
  summary: 'Revoke one of your console sessions',
  description:
    'Signs a browser out of the web console at once. The user stays signed in at the identity provider, and bearer tokens stay valid. Only users may do this. No scope is needed.',
  params: { session_id: LookupIdSchema.describe("The session's id.") },
  output: ConsoleSessionSchema,
  errors: ['user_required', 'console_session_not_found'],
});
