import { useMemo } from 'react';
import { useSetUrlState, useUrlParameter } from '../data/url-state.ts';
import type { Column } from './data-table.tsx';

/**
 * The columns of a list whose order is the parameter `sort` of the address. Those with an order of the API sort the list, the
 * largest first, and back to its usual order.
 *
 * @param orders by the keys of their columns
 */
export function useSortedColumns<Row>(
  columns: readonly Column<Row>[],
  orders: Readonly<Record<string, string>>,
): Column<Row>[] {
  const sort = useUrlParameter('sort');
  const setState = useSetUrlState();
  return useMemo(
    () =>
      columns.map((column) => {
        const order = orders[column.key];
        if (order === undefined) return column;
        const isSorted = order === sort;
        return {
          ...column,
          sorted: isSorted ? 'descending' : undefined,
          onSort: () => setState({ sort: isSorted ? undefined : order }),
        };
      }),
    [columns, orders, sort, setState],
  );
}
