import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';

type FieldValues = AuditEvent['changes'][number];

/** The fields that a write changed, and the record before and after. `before` is null if the write created the record. */
export type ChangedFields = { fields: readonly string[]; before: object | null; after: object };

/**
 * The fields whose values an audit event keeps: rights, limits, states, times and ids. Events are never changed or erased, so
 * a field belongs here only if it can hold neither a secret nor free text. All others are only named.
 */
const KEPT: ReadonlySet<string> = new Set([
  'acceptedAt',
  'assignee',
  'cacheReadPrice',
  'cacheWritePrice',
  'completedAt',
  'credentialId',
  'enforcement',
  'expiresAt',
  'health',
  'inventorySyncedAt',
  'inputPrice',
  'kind',
  'leaseExpiresAt',
  'limits.apiKeys',
  'limits.gateways',
  'limits.inventoryItems',
  'limits.memberships',
  'limits.openSessions',
  'limits.providers',
  'limits.requestsPerMinute',
  'limits.serviceAccounts',
  'limits.storedBytes',
  'limits.subTenants',
  'manifestId',
  'mcp.headerChecks',
  'mcpProxy',
  'newItems',
  'outcome',
  'outputPrice',
  'platformAdministrator',
  'providerIds',
  'review.decision',
  'revokedAt',
  'revokedReason',
  'role',
  'schemaDigest',
  'scopes',
  'sessionTtlSeconds',
  'settings.auditReads',
  'settings.captureContent',
  'settings.recordRetentionDays',
  'settings.spanRetentionDays',
  'settings.usageRetentionDays',
  'standby',
  'status',
  'subject',
  'suspendedBy',
  'syncIntervalSeconds',
  'validFrom',
]);

/** URLs of which only the origin is kept, because the path or the query may contain a key. */
const KEPT_ORIGINS: ReadonlySet<string> = new Set(['baseUrl', 'url']);

/** A longer value is only named. In bytes of its JSON. It has room for all scopes, and for the ids of 30 providers. */
const MAX_VALUE_BYTES = 1024;

/** Whether an audit event keeps the values of a field, or of one of its members. */
export function isKept(field: string): boolean {
  return KEPT.has(field) || KEPT_ORIGINS.has(field) || [...KEPT].some((name) => name.startsWith(`${field}.`));
}

/** The values before and after of those changed fields whose values are kept, in the order of the fields' names. */
export function keptValues({ fields, before, after }: ChangedFields): FieldValues[] {
  const kept = new Set(fields.flatMap(keptNames).toSorted());
  return [...kept].flatMap((field) => {
    const [from, to] = [keptValue(field, before), keptValue(field, after)];
    if (from === undefined || to === undefined || JSON.stringify(from) === JSON.stringify(to)) return [];
    return [{ field, before: from, after: to }];
  });
}

/** The field itself, or the kept members of an object. */
function keptNames(field: string): string[] {
  if (KEPT.has(field) || KEPT_ORIGINS.has(field)) return [field];
  return [...KEPT].filter((name) => name.startsWith(`${field}.`));
}

/** The value of a field as an event keeps it; undefined if it is not kept. A field that the record lacks is null. */
function keptValue(field: string, record: object | null): FieldValues['before'] | undefined {
  const value = field
    .split('.')
    .reduce<unknown>((member, name) => (member as Record<string, unknown> | null)?.[name], record);
  if (value === undefined || value === null) return null;
  if (KEPT_ORIGINS.has(field))
    return typeof value === 'string' && URL.canParse(value) ? new URL(value).origin : undefined;
  return isSmallScalarOrList(value) ? value : undefined;
}

function isSmallScalarOrList(value: unknown): value is NonNullable<FieldValues['before']> {
  const isScalar = ['string', 'number', 'boolean'].includes(typeof value);
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return (isScalar || isList) && Buffer.byteLength(JSON.stringify(value)) <= MAX_VALUE_BYTES;
}
