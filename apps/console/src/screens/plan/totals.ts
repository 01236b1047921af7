import type { Recommendation } from '@quartermaster/client';
import { formatNumber } from '../../components/format.ts';

/** `2 added, 1 changed, 0 removed`. */
export function totalsOf(recommendations: readonly Recommendation[]): string {
  const added = recommendations.filter(({ change }) => change.before === null).length;
  const blocked = recommendations.filter(({ kind, change }) => kind === 'block_item' && change.before === null).length;
  const removed = recommendations.filter(({ change }) => change.after === null).length;
  const changed = recommendations.length - added - removed;
  return `${formatNumber(added)} added${blocked === 0 ? '' : ` (${formatNumber(blocked)} as blocked)`}, ${formatNumber(changed)} changed, ${formatNumber(removed)} removed`;
}
