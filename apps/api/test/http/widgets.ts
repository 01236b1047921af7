// The operations of these tests, and a router that echoes its input.
import { operation } from '@quartermaster/contracts/operation.ts';
import { z } from 'zod';
import { ApiError } from '../../src/platform/errors.ts';
import { endpoint, publicEndpoint, router } from '../../src/http/trpc.ts';

const WidgetIdSchema = z.string().min(1).max(64).describe('The widget.');

const SizeSchema = z.strictObject({ width: z.int().min(1), height: z.int().min(1).optional() }).meta({ id: 'Size' });

const CreateWidgetInputSchema = z
  .strictObject({
    name: z.string().min(2).max(8),
    code: z
      .string()
      .regex(/^[a-z]+$/)
      .optional(),
    email: z.email().optional(),
    count: z.int().min(1).max(100).optional(),
    ratio: z.number().gt(0).lt(1).optional(),
    active: z.boolean().optional(),
    kind: z.enum(['a', 'b', 'c']).optional(),
    version: z.literal('v1').optional(),
    tags: z.array(z.string()).min(1).max(2).optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
    size: SizeSchema.optional(),
    note: z.union([z.string(), z.int()]).nullish(),
    shape: z
      .discriminatedUnion('type', [
        z.strictObject({ type: z.literal('round'), radius: z.number() }),
        z.strictObject({ type: z.literal('square'), side: z.number() }),
      ])
      .optional(),
    startsAt: z.iso.datetime({ offset: true }).optional(),
    homepage: z.url().optional(),
    apiKey: z.string().max(8).optional(),
    even: z
      .int()
      .refine((value) => value % 2 === 0, { error: 'even should be even' })
      .optional(),
  })
  .meta({ id: 'CreateWidgetInput', description: 'A new widget.' });

const EchoSchema = z
  .strictObject({ path: z.unknown().optional(), query: z.unknown().optional(), body: z.unknown().optional() })
  .meta({ id: 'Echo', description: 'What the operation was given.' });

const params = { widget_id: WidgetIdSchema };

const listWidgets = operation({
  method: 'GET',
  path: '/v1/widgets',
  operationId: 'list_widgets',
  scope: 'providers:read',
  tag: 'Providers',
  summary: 'List widgets',
  query: {
    tenant_id: z.string().nullish(),
    unknown: z.boolean().nullish().describe('Only undeclared ones.'),
    status: z.string().nullish(),
    limit: z.int().min(1).max(100).default(25),
    ratio: z.number().optional(),
    ids: z.array(z.int()).optional(),
  },
  output: EchoSchema,
});

export const readRequired = operation({
  method: 'GET',
  path: '/v1/widgets/by-size',
  operationId: 'find_widgets_by_size',
  scope: null,
  tag: 'Providers',
  summary: 'Find widgets by their size',
  query: { width: z.int() },
  output: EchoSchema,
});

export const getWidget = operation({
  method: 'GET',
  path: '/v1/widgets/{widget_id}',
  operationId: 'get_widget',
  scope: 'providers:read',
  tag: 'Providers',
  summary: 'Get a widget',
  params,
  output: EchoSchema,
  errors: ['provider_not_found'],
});

const createWidget = operation({
  method: 'POST',
  path: '/v1/widgets',
  operationId: 'create_widget',
  scope: 'providers:write',
  tag: 'Providers',
  summary: 'Create a widget',
  body: CreateWidgetInputSchema,
  bodyMaxBytes: 1024 * 1024,
  output: EchoSchema,
  errors: ['name_taken'],
});

export const updateWidget = operation({
  method: 'PUT',
  path: '/v1/widgets/{widget_id}',
  operationId: 'update_widget',
  scope: 'providers:write',
  tag: 'Providers',
  summary: 'Update a widget',
  params,
  query: { tenant_id: z.string().nullish(), revision: z.int().optional() },
  body: z
    .strictObject({ widget_id: z.string().optional(), name: z.string().optional(), count: z.int().optional() })
    .meta({ id: 'UpdateWidgetInput' }),
  output: EchoSchema,
});

const searchWidgets = operation({
  method: 'POST',
  path: '/v1/widgets/search',
  operationId: 'search_widgets',
  scope: 'providers:read',
  tag: 'Providers',
  summary: 'Search widgets',
  body: z
    .strictObject({
      tenantId: z.string().nullish(),
      count: z.int().optional(),
      metadata: z.record(z.string(), z.unknown()).optional(),
    })
    .meta({ id: 'SearchWidgetsInput' }),
  bodyOptional: true,
  output: EchoSchema,
});

const breakWidget = operation({
  method: 'POST',
  path: '/v1/widgets/{widget_id}/break',
  operationId: 'break_widget',
  scope: null,
  tag: 'Providers',
  summary: 'Break a widget',
  params,
  output: z.strictObject({ ok: z.boolean(), any: z.unknown().optional() }).meta({ id: 'Broken' }),
  errors: ['provider_not_found', 'rate_limited'],
});

const registerWidget = operation({
  method: 'POST',
  path: '/v1/register',
  operationId: 'register_widget',
  scope: 'public',
  tag: 'Users',
  summary: 'Register',
  body: z.strictObject({ email: z.email() }).meta({ id: 'RegisterWidgetInput' }),
  output: EchoSchema,
  errors: ['rate_limited'],
});

const ingest = operation({
  method: 'POST',
  path: '/v1/traces',
  operationId: 'ingest_traces',
  scope: 'traces:write',
  transport: 'otlp',
  tag: 'Traces',
  summary: 'Receive spans',
  output: z.strictObject({}).meta({ id: 'ExportTraceServiceResponse' }),
});

export const widgets = router({
  list: endpoint(listWidgets).query(({ input }) => input),
  bySize: endpoint(readRequired).query(({ input }) => input),
  get: endpoint(getWidget).query(({ input }) => input),
  create: endpoint(createWidget).mutation(({ input }) => input),
  update: endpoint(updateWidget).mutation(({ input }) => input),
  search: endpoint(searchWidgets).mutation(({ input }) => input),
  break: endpoint(breakWidget).mutation(({ input }) => BREAKS[input.path.widget_id]?.() ?? { ok: true }),
  ingest: endpoint(ingest).mutation(() => ({})),
  register: publicEndpoint(registerWidget).mutation(({ input }) => input),
});

/** The ways in which a handler can fail, by the id of the widget. */
const BREAKS: Record<string, () => { ok: boolean; any?: unknown }> = {
  throws: () => {
    throw new Error('the connection string is postgres://root:hunter2@db');
  },
  parses: () => ({ ok: z.boolean().parse('hunter2') }),
  output: () => ({ ok: 'hunter2' }) as unknown as { ok: boolean },
  bigint: () => ({ ok: true, any: 10n }),
  missing: () => {
    throw new ApiError('provider_not_found', 'There is no provider throws.');
  },
  limited: () => {
    throw new ApiError('rate_limited', 'Slow down.');
  },
  away: () => {
    throw new ApiError('database_unavailable', 'Try again.', { headers: { 'Retry-After': '7' } });
  },
};
