import type { AuditEvent } from '@quartermaster/client';
import { AUDIT_OPERATION_TITLES } from '@quartermaster/client/audit-operations.gen.ts';
import { words } from '../../components/format.ts';

/** Where the title of the API says what the service does, and not the caller, or has a second half. */
const OTHER_TITLES: Readonly<Record<string, string>> = {
  ingest_logs: 'Send log records',
  ingest_metrics: 'Send metrics',
  ingest_traces: 'Send spans',
  update_membership: 'Change a membership',
};

const IRREGULAR: Readonly<Record<string, string>> = {
  Cancel: 'Cancelled',
  Further: 'Further',
  Get: 'Read',
  Make: 'Made',
  Set: 'Set',
  Show: 'Looked at',
  Undo: 'Undid',
  Withdraw: 'Withdrew',
};

const DECISIONS: Record<NonNullable<AuditEvent['decision']>, string> = {
  approved: 'Approved',
  rejected: 'Rejected',
  ignored: 'Ignored',
  adopted: 'Adopted',
  dismissed: 'Dismissed',
  rotated: 'Rotated',
  pruned: 'Pruned',
  acknowledged: 'Acknowledged',
  withdrawn: 'Withdrew the decision',
  resolved: 'Marked as dealt with elsewhere',
};

/** The decisions to filter by. */
export const DECISION_CHOICES = Object.entries(DECISIONS).map(([value, label]) => ({ value, label }));

/** What an operation does: `Create a gateway`. One of another version has only its name. */
export function titleOf(operation: string): string {
  const titles: Readonly<Record<string, string>> = AUDIT_OPERATION_TITLES;
  return OTHER_TITLES[operation] ?? titles[operation] ?? capitalized(words(operation));
}

/** What happened: `Created a gateway`, `Approved`, or `Tried to create a gateway` if it was refused. */
export function whatHappened({
  operation,
  outcome,
  decision,
  target,
}: Pick<AuditEvent, 'operation' | 'outcome' | 'decision' | 'target'>): string {
  const title = titleOf(operation).replaceAll(/\byour\b/g, 'their');
  const [verb = '', ...rest] = title.split(' ');
  if (verb === 'Further') return title;
  if (outcome !== 'success') return `Tried to ${verb.toLowerCase()} ${rest.join(' ')}`;
  const done = [pastOf(verb), ...rest].join(' ');
  if (decision === null) return done;
  return target?.type === 'operator_task' ? `${done}: ${decision}` : DECISIONS[decision];
}

function pastOf(verb: string): string {
  const irregular = IRREGULAR[verb];
  if (irregular !== undefined) return irregular;
  if (verb.endsWith('e')) return `${verb}d`;
  return /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}ied` : `${verb}ed`;
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
