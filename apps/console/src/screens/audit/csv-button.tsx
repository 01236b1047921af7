import { type AuditEvent, listAuditEvents } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { formatNumber, plural } from '../../components/format.ts';
import { useAction } from '../../components/use-action.ts';
import { readAll } from '../../data/pages.ts';
import { actorOf, type AuditQuery, textOfChange } from './audit-query.ts';

/** More than this does not fit into a page of a browser comfortably. */
const MAX_ROWS = 20_000;

const HEADER = [
  'id',
  'created_at',
  'tenant_id',
  'sub_tenant_id',
  'actor',
  'key_id',
  'operation',
  'target_type',
  'target_id',
  'outcome',
  'reason',
  'decision',
  'count',
  'changed_fields',
  'changes',
  'request_id',
];

/** Saves the events of the filter as a file. */
export function CsvButton({ query }: { query: AuditQuery }): ReactNode {
  const save = useAction({
    run: async () => {
      const { items, isComplete } = await readAll(async (cursor) => {
        const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
        return (await listAuditEvents({ query: page, throwOnError: true })).data;
      }, MAX_ROWS);
      download(csvOf(items));
      return { count: items.length, isComplete };
    },
    done: ({ count, isComplete }) =>
      isComplete
        ? `Saved ${plural(count, 'event')}.`
        : `Saved only the newest ${formatNumber(count)} events. Narrow the filter to get the others.`,
  });
  return (
    <ActionButton scope="audit_events:read" variant="default" loading={save.isPending} onClick={() => save.mutate()}>
      Save as CSV
    </ActionButton>
  );
}

function csvOf(events: readonly AuditEvent[]): string {
  const rows = events.map((event) => [
    event.id,
    event.createdAt,
    event.tenantId,
    event.subTenantId,
    actorOf(event) ?? event.actor.type,
    event.keyId,
    event.operation,
    event.target?.type,
    event.target?.id,
    event.outcome,
    event.reason,
    event.decision,
    event.count,
    event.changedFields.join(' '),
    event.changes.map((change) => `${change.field}: ${textOfChange(change)}`).join('; '),
    event.requestId,
  ]);
  return [HEADER, ...rows].map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
}

/** RFC 4180. A text that a spreadsheet would run as a formula gets an apostrophe. */
function cellOf(value: string | number | null | undefined): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value ?? '') ? `'${value}` : (value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function download(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `audit-${new Date().toISOString().slice(0, 10)}.csv`;
  link.click();
  URL.revokeObjectURL(url);
}
