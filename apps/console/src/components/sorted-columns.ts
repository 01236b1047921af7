import { useMemo } from 'react';
import { useSetUrlState, useUrlParameter } from '../data/url-state.ts';
import type { Column } from './data-table.tsx';

const NONE: ReadonlySet<string> = new Set();

/**
 * The columns of a list whose order is the parameter `sort` of the address. Those with an order of the API sort the list,
 * the largest first unless the order is ascending, and back to its usual order.
 *
 * @param orders by the keys of their columns
 * @param ascending the keys of those whose order is ascending
 */
export function useSortedColumns<Row>(
  columns: readonly Column<Row>[],
  orders: Readonly<Record<string, string>>,
  ascending: ReadonlySet<string> = NONE,
): Column<Row>[] {
  const sort = useUrlParameter('sort');
  const setState = useSetUrlState();
  return useMemo(
    () =>
      columns.map((column) => {
        const order = orders[column.key];
        if (order === undefined) return column;
        const isSorted = order === sort;
        const direction = ascending.has(column.key) ? 'ascending' : 'descending';
        return {
          ...column,
          sorted: isSorted ? direction : undefined,
          onSort: () => setState({ sort: isSorted ? undefined : order }),
        };
      }),
    [columns, orders, ascending, sort, setState],
  );
}
