import { type ReactNode, useCallback } from 'react';
import type { ApiProblem } from '../data/problem.ts';
import { useUrlState } from '../data/url-state.ts';
import { DataTable, type TableProps } from './data-table.tsx';
import { useKeys } from './hotkeys.ts';
import { FailedPanel } from './side-panel.tsx';

type Props<Row, Shown> = Omit<TableProps<Row>, 'keyOf' | 'active' | 'onActive' | 'onOpen'> & {
  /** Above the table. */
  above?: ReactNode;
  /** The record that the address names as `item`. */
  shown: Shown | undefined;
  /** Why that record could not be read. */
  problem?: ApiProblem | null;
  /** What the panel is called in that case. */
  panelLabel?: string;
  renderPanel: (shown: Shown, close: () => void) => ReactNode;
};

const idOf = ({ id }: { id: string }) => id;

/** A table, and beside it a panel about one of its records. Escape closes the panel, and then clears the selection. */
export function SplitList<Row extends { id: string }, Shown>(props: Props<Row, Shown>): ReactNode {
  const { above, shown, problem = null, panelLabel = props.label, renderPanel, ...table } = props;
  const [{ item }, setState] = useUrlState();
  const openId = useCallback((id: string) => setState({ item: id }), [setState]);
  const open = useCallback(({ id }: Row) => openId(id), [openId]);
  const close = useCallback(() => setState({ item: undefined }), [setState]);
  useKeys({ Escape: () => (item === undefined ? table.selection?.clear() : close()) });
  return (
    <div className="split">
      <div className="split-list">
        {above}
        <DataTable {...table} keyOf={idOf} active={item} onActive={openId} onOpen={open} />
      </div>
      {shown !== undefined && renderPanel(shown, close)}
      {shown === undefined && problem !== null && <FailedPanel label={panelLabel} problem={problem} close={close} />}
    </div>
  );
}
