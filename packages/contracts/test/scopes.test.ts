import { expect, test } from 'vitest';
import { holdsScopes, ROLE_SCOPES, RoleSchema, type Scope, ScopeSchema } from '../src/scopes.ts';

const ALL = ScopeSchema.options;
const ROLES = RoleSchema.options;

test('a scope is `<resource>:<verb>` or `*`', () => {
  for (const scope of ALL)
    expect(scope).toMatch(/^(\*|[a-z]+(_[a-z]+)*:(read|write|apply|review|impersonate|introspect|evaluate))$/);
  expect(new Set(ALL).size).toBe(ALL.length);
});

test('* includes every scope, and only * includes *', () => {
  for (const scope of ALL) expect(holdsScopes(['*'], [scope])).toBe(true);
  const allBut = ALL.filter((scope) => scope !== '*');
  expect(holdsScopes(allBut, allBut)).toBe(true);
  expect(holdsScopes(allBut, ['*'])).toBe(false);
});

test('holdsScopes is true only if every wanted scope is held', () => {
  for (const scope of ALL.filter((one) => one !== '*')) {
    const others = ALL.filter((one) => one !== '*' && one !== scope);
    expect(holdsScopes(others, [scope])).toBe(false);
    expect(holdsScopes([scope], [scope])).toBe(true);
  }
  expect(holdsScopes([], [])).toBe(true);
  expect(holdsScopes(['providers:read'], ['providers:read', 'providers:write'])).toBe(false);
});

test('every role lists existing scopes, each once', () => {
  expect(Object.keys(ROLE_SCOPES)).toEqual(ROLES);
  for (const role of ROLES) {
    const scopes: readonly Scope[] = ROLE_SCOPES[role];
    expect(scopes.filter((scope) => !ALL.includes(scope))).toEqual([]);
    expect(new Set(scopes).size).toBe(scopes.length);
  }
});

test('each role includes the scopes of the roles below it: owner, admin, operator, viewer', () => {
  for (const [at, role] of ROLES.entries()) {
    for (const lesser of ROLES.slice(at + 1)) {
      expect(holdsScopes(ROLE_SCOPES[role], ROLE_SCOPES[lesser]), `${role} over ${lesser}`).toBe(true);
      expect(holdsScopes(ROLE_SCOPES[lesser], ROLE_SCOPES[role]), `${lesser} over ${role}`).toBe(false);
    }
  }
});

test('a viewer has only scopes for reading, and only administrators can write keys and read the audit', () => {
  for (const scope of ROLE_SCOPES.viewer) expect(scope).toMatch(/:read$/);
  const sensitive: Scope[] = [
    'credentials:write',
    'memberships:write',
    'users:write',
    'service_accounts:write',
    'audit_events:read',
  ];
  for (const scope of sensitive) {
    expect(holdsScopes(ROLE_SCOPES.admin, [scope])).toBe(true);
    for (const role of ['operator', 'viewer'] as const) expect(holdsScopes(ROLE_SCOPES[role], [scope])).toBe(false);
  }
  expect(holdsScopes(ROLE_SCOPES.operator, ['gateway_sessions:impersonate'])).toBe(false);
  // Only owners may change a tenant itself.
  expect(holdsScopes(ROLE_SCOPES.admin, ['tenants:write'])).toBe(false);
});
