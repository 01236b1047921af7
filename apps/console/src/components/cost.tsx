import type { Cost } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { formatMicroUsd, plural } from './format.ts';

/** A cost, with how it was computed on hover. Nothing for what costs nothing by itself, such as a tool. */
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
