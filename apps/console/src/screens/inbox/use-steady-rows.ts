import { getRuntimeObservation, type RuntimeObservation } from '@quartermaster/client';
import { useQueries } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { whileSignedIn } from '../../data/session.ts';
import { observationKey, REFRESH_MS } from './queries.ts';

/** How many rows that left the view are kept. */
const MAX_KEPT = 50;

type Rows = readonly RuntimeObservation[];
type Shown = { view: string; given: Rows; rows: Rows; gone: Rows };

/**
 * Rows that leave an open view because a person decided about them stay where they are, with the decision, until the user
 * opens another view. Otherwise rows would vanish under the pointer.
 *
 * @param view what the rows are of; another one starts anew
 * @param isFormer whether the rows given are still those of the former view
 * @param open the id of the row whose panel is open. It is read again at intervals, because others decide, too.
 */
export function useSteadyRows(
  given: Rows,
  { view, isFormer, open }: { view: string; isFormer: boolean; open: string | undefined },
): RuntimeObservation[] {
  const [shown, setShown] = useState<Shown>({ view, given, rows: given, gone: [] });
  let current = shown;
  if (!isFormer && (shown.given !== given || shown.view !== view)) {
    current = mergeRows(shown.view === view ? shown.rows : [], given, view);
    setShown(current);
  }
  const { rows, gone } = current;
  const updates = useQueries({
    queries: gone.map((row) => ({
      queryKey: observationKey(row.id),
      queryFn: () => readAgain(row),
      ...(row.id === open && { refetchInterval: whileSignedIn(REFRESH_MS) }),
    })),
    combine: (results) => results.map(({ data }) => data),
  });
  return useMemo(() => {
    if (updates.length === 0) return [...rows];
    const updated = new Map(updates.flatMap((row) => (row === undefined ? [] : [[row.id, row] as const])));
    return rows.map((row) => updated.get(row.id) ?? row);
  }, [rows, updates]);
}

async function readAgain({ id }: RuntimeObservation): Promise<RuntimeObservation> {
  return (await getRuntimeObservation({ path: { observation_id: id }, throwOnError: true })).data;
}

/** The rows in their order, with each row that is gone after the one that it stood after. */
function mergeRows(before: Rows, given: Rows, view: string): Shown {
  // Most often the next page of the list was read.
  if (before.every(({ id }, index) => given[index]?.id === id)) return { view, given, rows: given, gone: [] };
  const present = new Set(given.map(({ id }) => id));
  const gone = before.filter(({ id }) => !present.has(id)).slice(-MAX_KEPT);
  const rows = [...given];
  for (const row of gone) {
    const former = before[before.indexOf(row) - 1];
    const at = former === undefined ? 0 : rows.findIndex(({ id }) => id === former.id) + 1;
    rows.splice(at, 0, row);
  }
  return { view, given, rows, gone };
}
