import type { Cost } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { formatMicroUsd, plural } from './format.ts';

/**
 * A cost, with how it was computed on hover. A star says that calls without a price are not in it: `CostNote` has their number. Nothing
 * for what costs nothing by itself, such as a tool.
 */
export function CostText({ cost }: { cost: Cost | null }): ReactNode {
  if (cost === null) return <span className="dim">–</span>;
  const { microUsd, unpricedCalls } = cost;
  return (
    <span className={microUsd === null ? 'dim' : undefined} title={meaningOf(cost)}>
      {microUsd === null ? 'no price' : formatMicroUsd(microUsd)}
      {microUsd !== null && unpricedCalls > 0 && '*'}
    </span>
  );
}

/** What the costs of a table are, and how many calls are not in them. */
export function CostNote({ costs }: { costs: readonly (Cost | null)[] }): ReactNode {
  const unpriced = costs.reduce((sum, cost) => sum + (cost?.unpricedCalls ?? 0), 0);
  if (costs.every((cost) => cost === null)) return null;
  return (
    <>
      Costs are an estimate by list prices{unpricedText(unpriced)}
      {unpriced > 0 && ' (*)'}.
    </>
  );
}

/** What a cost leaves out, as the end of a sentence. */
export function unpricedText(calls: number): string {
  return calls === 0 ? '' : `, without ${plural(calls, 'call')} that ${calls === 1 ? 'has' : 'have'} no price`;
}

/** How a cost was computed, in words. */
function meaningOf({ microUsd, unpricedCalls, prices }: Cost): string {
  const names = prices.map(({ source, id, version }) =>
    version === null ? `${id} (${source})` : `${id} (${version})`,
  );
  return [
    ...(microUsd === null ? [] : [`estimate by list prices: ${names.join(', ')}`]),
    ...(unpricedCalls > 0 ? [`${plural(unpricedCalls, 'call')} without a price not included`] : []),
  ].join('; ');
}
