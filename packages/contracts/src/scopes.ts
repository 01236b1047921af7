import { z } from 'zod';

/** What each scope permits, as a caller would say it. The OpenAPI document, the documentation and the web console show it. */
export const SCOPE_MEANINGS = {
  '*': 'Everything.',
  'audit_events:read': 'Read who did what, and verify that nothing was changed.',
  'credentials:read':
    'List keys and stored credentials, never the secrets, and what a user, account or key has created.',
  'credentials:write': 'Create, rotate and revoke keys of service accounts, and set the credential of a provider.',
  'gateway_sessions:evaluate': 'Ask whether a session or account may use something.',
  'gateway_sessions:impersonate':
    'Open gateway sessions for other accounts and users. Needs `gateway_sessions:write` as well.',
  'gateway_sessions:introspect':
    'Ask whether the token of a gateway session is valid, as a gateway does for each call.',
  'gateway_sessions:read': 'See gateway sessions and what each grants.',
  'gateway_sessions:write': 'Open and end gateway sessions.',
  'gateways:read': 'See gateways.',
  'gateways:write': 'Create, change and delete gateways.',
  'manifests:read': 'See what agents and gateways are declared to use.',
  'manifests:write': 'Declare what agents and gateways may use.',
  'memberships:read': 'See the members of a tenant.',
  'memberships:write': 'Invite members, change their roles, and remove them.',
  'operator_tasks:read': 'See operator tasks.',
  'operator_tasks:write': 'Claim, complete and cancel operator tasks.',
  'providers:read': 'See providers and their inventory.',
  'providers:write': 'Create, change, sync and delete providers and their inventory items.',
  'recommendations:apply': 'Apply recommendations, undo that, and dismiss them.',
  'recommendations:read': 'See recommendations.',
  'runtime_observations:read': 'See what agents were observed to use.',
  'runtime_observations:review': 'Approve, reject and ignore what agents were observed to use.',
  'service_accounts:read': 'See service accounts.',
  'service_accounts:write': 'Create, change, disable and delete service accounts.',
  'tenants:read': 'See tenants, their limits and how much of them is used.',
  'tenants:write':
    'Change the settings and prices of tenants. Only platform administrators create and delete tenants, and change limits.',
  'traces:read': 'Read traces and their spans.',
  'traces:write': 'Send telemetry: spans, logs and metrics.',
  'usage:read': 'Read calls, errors, tokens, costs and prices, and the map of who uses what.',
  'users:read': 'See users.',
  'users:write': 'Disable, enable and delete users whose memberships are all in reach.',
} as const satisfies Record<string, string>;
export type Scope = keyof typeof SCOPE_MEANINGS;

const SCOPES = Object.keys(SCOPE_MEANINGS) as [Scope, ...Scope[]];

const DESCRIPTION = 'A permission: `<resource>:<verb>`, or `*` for all of them.';

/** A permission: `<resource>:<verb>`, or `*` for all of them. */
export const ScopeSchema = z.enum(SCOPES).meta({
  id: 'Scope',
  description: [DESCRIPTION, '', ...SCOPES.map((scope) => `- \`${scope}\`: ${SCOPE_MEANINGS[scope]}`)].join('\n'),
});

/** Only administrators may see the members of a tenant, and read its audit. */
const ADMINISTRATORS_READ: readonly Scope[] = ['users:read', 'memberships:read', 'audit_events:read'];
const READ_SCOPES = ScopeSchema.options.filter(
  (scope) => scope.endsWith(':read') && !ADMINISTRATORS_READ.includes(scope),
);

/** The scopes of each role. They hold only in the tenant or sub-tenant of the membership that gives the role. */
export const ROLE_SCOPES = {
  owner: ['*'],
  admin: ScopeSchema.options.filter((scope) => scope !== '*' && scope !== 'tenants:write'),
  operator: [
    ...READ_SCOPES,
    'gateway_sessions:evaluate',
    'gateway_sessions:introspect',
    'gateway_sessions:write',
    'manifests:write',
    'operator_tasks:write',
    'providers:write',
    'recommendations:apply',
    'runtime_observations:review',
    'traces:write',
  ],
  viewer: READ_SCOPES.filter((scope) => scope !== 'credentials:read'),
} as const satisfies Record<string, readonly Scope[]>;

export const RoleSchema = z
  .enum(['owner', 'admin', 'operator', 'viewer'])
  .meta({ id: 'Role', description: 'A named set of scopes. They hold in the tenant or sub-tenant of the membership.' });
export type Role = z.infer<typeof RoleSchema>;

/** Whether `held` includes all of `wanted`. `*` includes every scope, and only `*` includes `*`. */
export function holdsScopes(held: readonly Scope[], wanted: readonly Scope[]): boolean {
  return held.includes('*') || wanted.every((scope) => held.includes(scope));
}
