import type { Cost } from '@quartermaster/client';
import type { Column } from '../../components/data-table.tsx';
import { CostText } from '../../components/cost.tsx';
import { formatCompact } from '../../components/format.ts';

type Sums = { calls: number; errors: number; inputTokens: number; outputTokens: number; cost: Cost | null };

/** The columns `calls`, `errors`, `tokens` and `cost` of a table. */
export function usageColumns<Row>(
  sumsOf: (row: Row) => Sums,
): Record<'calls' | 'errors' | 'tokens' | 'cost', Column<Row>> {
  return {
    calls: {
      key: 'calls',
      header: 'Calls',
      width: '72px',
      isNumber: true,
      cell: (row) => formatCompact(sumsOf(row).calls),
    },
    errors: {
      key: 'errors',
      header: 'Errors',
      width: '64px',
      isNumber: true,
      cell(row) {
        const { errors } = sumsOf(row);
        return <span className={errors > 0 ? 'danger' : 'dim'}>{formatCompact(errors)}</span>;
      },
    },
    tokens: {
      key: 'tokens',
      header: 'Tokens',
      width: '80px',
      isNumber: true,
      cell(row) {
        const { inputTokens, outputTokens } = sumsOf(row);
        return formatCompact(inputTokens + outputTokens);
      },
    },
    cost: {
      key: 'cost',
      header: 'Cost',
      width: '84px',
      isNumber: true,
      cell: (row) => <CostText cost={sumsOf(row).cost} />,
    },
  };
}
