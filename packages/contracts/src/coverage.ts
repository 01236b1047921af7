import { z } from 'zod';
import { TimestampSchema, tenancyFields, tenancyQueryFields } from './fields.ts';
import { DecisionPointSchema } from './gateway-decisions.ts';
import { EnforcementSchema } from './gateways.ts';
import { operation } from './operation.ts';
import { pageFields, pageShape } from './pages.ts';
import { rangeFields } from './usage.ts';

export const CoverageStateSchema = z
  .enum(['bypassed', 'silent', 'ungoverned', 'observed_only', 'no_telemetry', 'enforced'])
  .meta({ id: 'CoverageState' })
  .describe(
    'Whether decisions are asked for. `bypassed`: calls are reported, a gateway lists the provider, and no decision was asked for. `silent`: decisions were asked for before, but none in the last hour, in which calls are reported. `ungoverned`: calls are reported, and no active gateway lists the provider. `observed_only`: decisions are asked for, in the mode `observe`. `no_telemetry`: decisions are asked for, and no call is reported. `enforced`: decisions are asked for, in the mode `enforce`.',
  );
export type CoverageState = z.infer<typeof CoverageStateSchema>;

export const CoverageSchema = z
  .strictObject({
    ...tenancyFields,
    account: z.string().describe('The account: `user:<id>` or `service_account:<tenant>/<id>`.'),
    agents: z
      .array(z.string())
      .max(10)
      .describe('The agents whose calls the account reported, those with the most calls first, at most 10.'),
    providerId: z.string().describe('The id of the provider. Empty: the gateway lists no such provider.'),
    provider: z.string().nullable().describe('The name of the provider. Null if it is out of your reach.'),
    state: CoverageStateSchema,
    mode: EnforcementSchema.nullable().describe('The mode of the last decision. Null: there was none.'),
    points: z.array(DecisionPointSchema).describe('Where decisions were asked for.'),
    calls: z.int().describe('The calls that telemetry reported.'),
    decisions: z.int().describe('The decisions that were asked for.'),
    denied: z.int().describe('How many of these denied the use, or would have in the mode `enforce`.'),
    unasked: z
      .int()
      .describe('The calls that nobody asked about: reported calls beyond the decisions that permitted one.'),
    lastDecisionAt: TimestampSchema.nullable().describe(
      'When a decision was last asked for. Null: never in this time.',
    ),
    lastCallAt: TimestampSchema.nullable().describe(
      'When the last call was made that telemetry reported, by the clock of the sender. Null: none was made in this time.',
    ),
  })
  .meta({ id: 'Coverage', description: 'Whether the calls of an account at a provider are decided by a gateway.' });
export type Coverage = z.infer<typeof CoverageSchema>;

export const listCoverage = operation({
  method: 'GET',
  path: '/v1/coverage',
  operationId: 'list_coverage',
  scope: 'usage:read',
  tag: 'Gateways',
  summary: 'List which calls gateways decide about',
  description:
    'Compares the calls that telemetry reported with the decisions that were asked for, for each account and provider: who is enforced, who is only observed, and whose calls nobody asks about. In the order of tenant, account and provider. It costs as much as `list_usage`.',
  query: {
    ...tenancyQueryFields,
    days: z.int().min(1).max(30).default(7).describe('How many days back, to the next full hour: 1 to 30.'),
    state: CoverageStateSchema.nullish().describe('Only records with this state.'),
    provider_id: z.string().max(128).nullish().describe('Only records of this provider.'),
    account: z.string().max(300).nullish().describe('Only records of this account.'),
    ...pageFields,
  },
  output: z
    .strictObject({ ...pageShape(CoverageSchema), ...rangeFields })
    .meta({ id: 'CoveragePage', description: 'One page of coverage, and the time range that was compared.' }),
});
