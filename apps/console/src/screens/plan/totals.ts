import type { Recommendation } from '@quartermaster/client';
import { formatNumber, plural } from '../../components/format.ts';

/** `2 added, 1 changed, 0 removed`. */
export function totalsOf(recommendations: readonly Recommendation[]): string {
  const added = recommendations.filter(({ change }) => change.before === null).length;
  const blocked = recommendations.filter(({ kind, change }) => kind === 'block_item' && change.before === null).length;
  const removed = recommendations.filter(({ change }) => change.after === null).length;
  const changed = recommendations.length - added - removed;
  return `${formatNumber(added)} added${blocked === 0 ? '' : ` (${formatNumber(blocked)} as blocked)`}, ${formatNumber(changed)} changed, ${formatNumber(removed)} removed`;
}

/** What a plan does when it is applied, for the question before that. */
export function consequenceOf(recommendations: readonly Recommendation[], revokedSessions: number): string {
  const sessions =
    revokedSessions === 0 ? 'No running session ends.' : `${plural(revokedSessions, 'running session')} would end.`;
  return `${totalsOf(recommendations)}. ${sessions} One undo takes all of it back, as long as nothing is built on it.`;
}

/** A planned change is skipped if another person has applied, dismissed or decided about it since. */
export function appliedText(applied: number, skipped: number): string {
  const text = `${plural(applied, 'change')} applied.`;
  if (skipped === 0) return text;
  const start = applied === 0 ? 'Nothing was applied' : `${text} ${formatNumber(skipped)} not`;
  return `${start}: another person has changed what was planned. This is the plan as it is now.`;
}
