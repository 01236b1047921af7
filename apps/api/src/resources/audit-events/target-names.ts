import type { AuditEvent, ListedAuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { findRecordNames, type NamedRecordType, type RecordName } from '@quartermaster/db/repositories/record-names.ts';
import type { CallerContext } from '../../auth/context.ts';
import { reachOfAll } from '../../auth/principal.ts';

/** The scopes that a caller needs to read the name of a record. */
const SCOPES: Record<NamedRecordType, readonly Scope[]> = {
  provider: ['providers:read'],
  inventory_item: ['providers:read'],
  runtime_observation: ['runtime_observations:read'],
  recommendation: ['recommendations:read'],
  gateway: ['gateways:read'],
  // It has the name of its gateway, and a credential that of its provider.
  gateway_session: ['gateway_sessions:read', 'gateways:read'],
  provider_credential: ['credentials:read', 'providers:read'],
  manifest: ['manifests:read'],
  operator_task: ['operator_tasks:read'],
  service_account: ['service_accounts:read'],
  api_key: ['credentials:read'],
  price: ['usage:read'],
  tenant: ['tenants:read'],
};
const TYPES = Object.keys(SCOPES) as NamedRecordType[];

/** Adds the names of targets to events, of those that the caller may read. The stored events have only ids, which never change. */
export async function withTargetNames(
  { services: { db }, principal }: CallerContext,
  events: readonly AuditEvent[],
): Promise<ListedAuditEvent[]> {
  const names = new Map<string, RecordName>();
  for (const type of TYPES) {
    const records = events.flatMap((event) => {
      const tenantId = tenantOf(event);
      return event.target?.type === type && tenantId !== null ? [{ tenantId, id: event.target.id }] : [];
    });
    const found = await findRecordNames(db, reachOfAll(principal, SCOPES[type]), type, records);
    for (const one of found) names.set(keyOf(type, one), one);
  }
  return events.map((event) => {
    const { target } = event;
    if (target === null) return { ...event, target };
    const key = keyOf(target.type, { tenantId: tenantOf(event), id: target.id });
    const { name = null, parentId = null, isDeleted = false } = names.get(key) ?? {};
    return { ...event, target: { ...target, name, parentId, deleted: isDeleted } };
  });
}

/** The tenant of the target. The platform's own events name tenants, too. */
function tenantOf({ tenantId, target }: AuditEvent): string | null {
  return target?.type === 'tenant' ? target.id : tenantId;
}

function keyOf(type: string, { tenantId, id }: { tenantId: string | null; id: string }): string {
  return JSON.stringify([type, tenantId, id]);
}
