import { z } from 'zod';

/** A permission: `<resource>:<verb>`, or `*` for all of them. */
export const ScopeSchema = z
  .enum([
    '*',
    'audit_events:read',
    'credentials:read',
    'credentials:write',
    'gateway_sessions:impersonate',
    'gateway_sessions:introspect',
    'gateway_sessions:read',
    'gateway_sessions:write',
    'gateways:read',
    'gateways:write',
    'manifests:read',
    'manifests:write',
    'memberships:read',
    'memberships:write',
    'operator_tasks:read',
    'operator_tasks:write',
    'providers:read',
    'providers:write',
    'recommendations:apply',
    'recommendations:read',
    'runtime_observations:read',
    'runtime_observations:review',
    'service_accounts:read',
    'service_accounts:write',
    'tenants:read',
    'tenants:write',
    'traces:read',
    'traces:write',
    'usage:read',
    'users:read',
    'users:write',
  ])
  .meta({ id: 'Scope', description: 'A permission: `<resource>:<verb>`, or `*` for all of them.' });
export type Scope = z.infer<typeof ScopeSchema>;

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
