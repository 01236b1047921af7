import { expect, test } from 'vitest';
import { holdsScopes, ROLE_SCOPES, RoleSchema, type Scope, ScopeSchema } from '../src/scopes.ts';

const ALL = ScopeSchema.options;
const ROLES = RoleSchema.options;

test('a scope is a resource and a verb, or everything', () => {
  for (const scope of ALL)
    expect(scope).toMatch(/^(\*|[a-z]+(_[a-z]+)*:(read|write|apply|review|impersonate|introspect))$/);
  expect(new Set(ALL).size).toBe(ALL.length);
});

test('* holds every scope, and only * holds *', () => {
  for (const scope of ALL) expect(holdsScopes(['*'], [scope])).toBe(true);
  const allBut = ALL.filter((scope) => scope !== '*');
  expect(holdsScopes(allBut, allBut)).toBe(true);
  expect(holdsScopes(allBut, ['*'])).toBe(false);
});

test('scopes are held whole: one that is missing is missing, and nothing asks for nothing', () => {
  for (const scope of ALL.filter((one) => one !== '*')) {
    const others = ALL.filter((one) => one !== '*' && one !== scope);
    expect(holdsScopes(others, [scope])).toBe(false);
    expect(holdsScopes([scope], [scope])).toBe(true);
  }
  expect(holdsScopes([], [])).toBe(true);
  expect(holdsScopes(['providers:read'], ['providers:read', 'providers:write'])).toBe(false);
});

test('a role has scopes that exist, each once', () => {
  expect(Object.keys(ROLE_SCOPES)).toEqual(ROLES);
  for (const role of ROLES) {
    const scopes: readonly Scope[] = ROLE_SCOPES[role];
    expect(scopes.filter((scope) => !ALL.includes(scope))).toEqual([]);
    expect(new Set(scopes).size).toBe(scopes.length);
  }
});

test('each role may all that the next one may: owner, admin, operator, viewer', () => {
  for (const [at, role] of ROLES.entries()) {
    for (const lesser of ROLES.slice(at + 1)) {
      expect(holdsScopes(ROLE_SCOPES[role], ROLE_SCOPES[lesser]), `${role} over ${lesser}`).toBe(true);
      expect(holdsScopes(ROLE_SCOPES[lesser], ROLE_SCOPES[role]), `${lesser} over ${role}`).toBe(false);
    }
  }
});

test('a viewer reads and nothing else; keys and the audit stay with administrators', () => {
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
  // Tenants themselves are the owner's.
  expect(holdsScopes(ROLE_SCOPES.admin, ['tenants:write'])).toBe(false);
});
