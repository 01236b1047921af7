import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  memo,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { PagedList } from '../data/pages.ts';
import classes from './data-table.module.css';
import { formatNumber } from './format.ts';
import { useKeys } from './hotkeys.ts';
import { Icon } from './icons.tsx';
import { scrollIntoView } from './scroll-into-view.ts';
import { focusSidePanel } from './side-panel.tsx';
import { Failed, Loading } from './states.tsx';

export type Column<Row> = {
  key: string;
  header: string;
  /** A track of a CSS grid, such as `120px` or `minmax(160px, 2fr)`. */
  width: string;
  isNumber?: boolean;
  /** Left out if not all columns fit: in a small window, or beside an open panel. The last of them first. */
  isWideOnly?: boolean;
  /** How the server sorts the list by this column, if it does now. */
  sorted?: 'ascending' | 'descending' | undefined;
  /** Sorts the list by this column, or goes back to its usual order. */
  onSort?: () => void;
  cell: (row: Row) => ReactNode;
};

type Selection = {
  keys: ReadonlySet<string>;
  toggle: (key: string) => void;
  toggleAll: () => void;
  clear: () => void;
};

export type TableProps<Row> = {
  label: string;
  list: PagedList<Row>;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  /** The row that the keyboard is on. */
  active?: string | undefined;
  onActive?: (key: string) => void;
  /** What Enter and a click do. */
  onOpen?: (row: Row) => void;
  selection?: Selection;
  empty: ReactNode;
  /** Said in the place of the count. */
  footer?: ReactNode;
};

const ROW_HEIGHT = 36;
const HEAD_HEIGHT = 32;

/** Of a card: the height of one of its lines, and that above and below all of them, in pixels. As in the styles. */
const CARD_LINE = 26;
const CARD_PADDING = 20;

/** Narrower tables have cards, in pixels: the window of a phone, and not a list beside a panel. */
const CARDS_BELOW = 450;
const OVERSCAN = 12;
/** How many rows before the end the next page is read. */
const READ_AHEAD = 40;

/**
 * A table of any length. Only the rows in view are in the page; the keys j and k move, x selects, Enter opens. Where its columns do
 * not fit, each row is a card that has all of them below each other.
 */
export function DataTable<Row>(props: TableProps<Row>): ReactNode {
  const { label, list, columns: allColumns, keyOf, active, onActive, onOpen, selection, empty, footer } = props;
  const { items, hasMore, loadMore } = list;
  const scroller = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(Number.POSITIVE_INFINITY);
  const measure = useCallback((element: HTMLDivElement) => {
    scroller.current = element;
    const read = () => setWidth(element.clientWidth);
    // Before the first rows are painted.
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => {
      scroller.current = null;
      observer.disconnect();
    };
  }, []);
  const isSelectable = selection !== undefined;
  const { columns, areCards, rowHeight, tracks } = useMemo(
    () => layOut(allColumns, isSelectable, width),
    [allColumns, isSelectable, width],
  );
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
  });
  const rows = virtualizer.getVirtualItems();
  const lastIndex = rows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastIndex >= items.length - READ_AHEAD) loadMore();
  }, [hasMore, lastIndex, items.length, loadMore]);

  // Not for each scroll step: the list may have many thousand rows.
  const activeIndex = useMemo(() => items.findIndex((row) => keyOf(row) === active), [items, keyOf, active]);
  const measuredHeight = useRef(rowHeight);
  useLayoutEffect(() => {
    if (measuredHeight.current === rowHeight) return;
    measuredHeight.current = rowHeight;
    // The library keeps the heights that it asked for before.
    virtualizer.measure();
    // Rows became cards, or the other way round: because a panel opened beside them, for example.
    if (activeIndex !== -1) scrollIntoView(virtualizer, placeOf(activeIndex, rowHeight));
  }, [virtualizer, rowHeight, activeIndex]);
  const takesFocus = useRef(false);
  const focusRow = useCallback((element: HTMLElement) => {
    if (!takesFocus.current) return;
    takesFocus.current = false;
    element.focus({ preventScroll: true });
  }, []);
  const moveTo = (wanted: number) => {
    const index = Math.max(0, Math.min(items.length - 1, wanted));
    const row = items[index];
    if (row === undefined) return;
    takesFocus.current = true;
    // First, while nothing has changed: to scroll after a change, the browser has to lay out the page at once.
    scrollIntoView(virtualizer, placeOf(index, rowHeight));
    onActive?.(keyOf(row));
  };
  const openActive = () => {
    const row = items[activeIndex];
    if (row === undefined) return;
    onOpen?.(row);
    focusSidePanel();
  };
  useKeys({
    j: () => moveTo(activeIndex + 1),
    k: () => moveTo(activeIndex - 1),
    ArrowDown: () => moveTo(activeIndex + 1),
    ArrowUp: () => moveTo(activeIndex - 1),
    Enter: openActive,
    ...(selection && {
      x: () => {
        const row = items[activeIndex];
        if (row !== undefined) selection.toggle(keyOf(row));
      },
    }),
  });
  const onClick = useCallback(
    (event: MouseEvent<HTMLElement>) => {
      const target = event.target as HTMLElement;
      if (target.closest('a,button,input,label') !== null || (window.getSelection()?.toString() ?? '') !== '') return;
      const key = target.closest<HTMLElement>('[data-key]')?.dataset['key'];
      const row = items.find((each) => keyOf(each) === key);
      if (row !== undefined) onOpen?.(row);
    },
    [items, keyOf, onOpen],
  );

  if (list.isLoading || (list.isFormer && items.length === 0)) return <Loading />;
  if (list.problem !== null && items.length === 0) return <Failed problem={list.problem} retry={list.reload} />;
  if (items.length === 0 && !hasMore) return empty;
  const isAllSelected =
    selection !== undefined && selection.keys.size > 0 && items.every((row) => selection.keys.has(keyOf(row)));
  return (
    <div className={classes.frame}>
      {/* The whole table is one stop of the tab key; j and k move inside. */}
      <div
        ref={measure}
        className={classes.scroller}
        tabIndex={0}
        role="region"
        aria-label={`${label}, scrollable`}
        aria-busy={list.isFormer}
      >
        <div
          role="table"
          aria-label={label}
          aria-rowcount={hasMore ? -1 : items.length + 1}
          className={classes.table}
          data-cards={areCards}
          style={tracks}
        >
          <TableHead
            columns={columns as readonly Column<unknown>[]}
            isAllSelected={isAllSelected}
            toggleAll={selection?.toggleAll}
          />
          {/* A click anywhere in a row opens it; the key for that is Enter. */}
          <div role="rowgroup" style={{ height: items.length * rowHeight }} className={classes.rows} onClick={onClick}>
            {rows.map(({ index, start }) => {
              const row = items[index];
              if (row === undefined) return null;
              const key = keyOf(row);
              return (
                <TableRow
                  key={key}
                  row={row}
                  rowKey={key}
                  index={index}
                  start={start}
                  columns={columns as readonly Column<unknown>[]}
                  isActive={key === active}
                  focusRow={focusRow}
                  isOpenable={onOpen !== undefined}
                  isSelected={selection?.keys.has(key) ?? false}
                  toggle={selection?.toggle}
                />
              );
            })}
          </div>
        </div>
      </div>
      <div className={classes.footer} role="status">
        {footer ?? countText(list)}
      </div>
    </div>
  );
}

/** Where a row is in the table. */
function placeOf(index: number, height: number) {
  return { top: index * height, height, covered: HEAD_HEIGHT };
}

const SELECTION_TRACK = '34px';

/** The space between columns, and that at both ends of a row: as in the styles, in pixels. */
const COLUMN_GAP = 14;
const ROW_PADDING = 40;

/** The columns that are shown in a width, in pixels, and how. */
function layOut<Row>(allColumns: readonly Column<Row>[], isSelectable: boolean, width: number) {
  const before = isSelectable ? [SELECTION_TRACK] : [];
  const room = width - minimumWidth(before);
  const fitting = fittingColumns(allColumns, room);
  if (width < CARDS_BELOW || !doFit(fitting, room)) return cardsOf(allColumns);
  const template = [...before, ...fitting.map((column) => column.width)].join(' ');
  const tracks = { '--columns': template } as CSSProperties;
  return { columns: fitting, areCards: false, rowHeight: ROW_HEIGHT, tracks };
}

/** A line for the title and for each other long value. Two short values share a line. */
function cardsOf<Row>(columns: readonly Column<Row>[]) {
  const title = columns.find(isLong) ?? columns[0];
  const shorts = columns.filter((column) => column !== title && !isLong(column)).length;
  const longs = columns.length - shorts;
  const rowHeight = CARD_PADDING + CARD_LINE * (longs + Math.ceil(shorts / 2));
  return {
    columns: columns.toSorted((a, b) => cardOrder(a, title) - cardOrder(b, title)),
    areCards: true,
    rowHeight,
    tracks: { '--row-height': `${rowHeight}px` } as CSSProperties,
  };
}

/** The title, then the short values, then the long ones. */
function cardOrder<Row>(column: Column<Row>, title: Column<Row> | undefined): number {
  if (column === title) return 0;
  return isLong(column) ? 2 : 1;
}

function isLong({ width }: { width: string }): boolean {
  return width.endsWith('fr)') || width.endsWith('fr');
}

function doFit<Row>(columns: readonly Column<Row>[], width: number): boolean {
  return minimumWidth(columns.map((column) => column.width)) + ROW_PADDING - COLUMN_GAP <= width;
}

/** As many columns as fit into a width, in pixels. */
function fittingColumns<Row>(columns: readonly Column<Row>[], width: number): readonly Column<Row>[] {
  let shown = columns;
  while (!doFit(shown, width)) {
    const left = shown.findLastIndex(({ isWideOnly }) => isWideOnly === true);
    if (left === -1) break;
    shown = shown.toSpliced(left, 1);
  }
  return shown;
}

/** The least width of tracks of a grid, each with the gap after it. */
function minimumWidth(tracks: readonly string[]): number {
  return tracks.reduce((sum, track) => sum + Number(/\d+/.exec(track)?.[0] ?? 0) + COLUMN_GAP, 0);
}

type HeadProps = {
  columns: readonly Column<unknown>[];
  isAllSelected: boolean;
  toggleAll: (() => void) | undefined;
};

/** Memoised, because the table is drawn again for each scroll step. */
const TableHead = memo(function TableHead({ columns, isAllSelected, toggleAll }: HeadProps): ReactNode {
  return (
    <div role="row" aria-rowindex={1} className={classes.head}>
      {toggleAll !== undefined && (
        <div role="columnheader" className={classes.cell}>
          <input type="checkbox" aria-label="Select all that are loaded" checked={isAllSelected} onChange={toggleAll} />
        </div>
      )}
      {columns.map((column) => (
        <ColumnHeader key={column.key} column={column} />
      ))}
    </div>
  );
});

function ColumnHeader<Row>({ column }: { column: Column<Row> }): ReactNode {
  const { header, isNumber, sorted, onSort } = column;
  const mark = sorted !== undefined && <Icon name={sorted === 'descending' ? 'down' : 'up'} size={11} />;
  return (
    <div
      role="columnheader"
      aria-sort={onSort === undefined ? sorted : (sorted ?? 'none')}
      className={classes.cell}
      data-number={isNumber}
    >
      {onSort === undefined ? (
        <span className={classes.sort}>
          {header}
          {mark}
        </span>
      ) : (
        <button type="button" className={classes.sort} title={`Sort by ${header.toLowerCase()}`} onClick={onSort}>
          {header}
          {mark}
        </button>
      )}
    </div>
  );
}

type RowProps = {
  row: unknown;
  rowKey: string;
  index: number;
  start: number;
  columns: readonly Column<unknown>[];
  isActive: boolean;
  /** Gives the focus to this row, if a key has made it the active one. */
  focusRow: (element: HTMLElement) => void;
  isOpenable: boolean;
  isSelected: boolean;
  toggle: ((key: string) => void) | undefined;
};

const TableRow = memo(function TableRow(props: RowProps): ReactNode {
  const { row, rowKey, index, start, columns, isActive, focusRow, isOpenable, isSelected, toggle } = props;
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isActive && element.current !== null) focusRow(element.current);
  }, [isActive, focusRow]);
  return (
    <div
      ref={element}
      // Only the keys j and k lead here, so that the table stays one stop of the tab key.
      tabIndex={-1}
      role="row"
      aria-rowindex={index + 2}
      aria-current={isActive ? 'true' : undefined}
      data-key={rowKey}
      data-active={isActive}
      data-selected={isSelected}
      data-openable={isOpenable}
      className={classes.row}
      style={{ transform: `translateY(${start}px)` }}
    >
      {toggle !== undefined && (
        <div role="cell" className={classes.cell}>
          <input type="checkbox" aria-label="Select this row" checked={isSelected} onChange={() => toggle(rowKey)} />
        </div>
      )}
      {columns.map(({ key, header, width, isNumber, cell }) => (
        <div
          key={key}
          role="cell"
          className={classes.cell}
          data-number={isNumber}
          // Cards show it before the value.
          data-header={header}
          data-long={isLong({ width })}
        >
          {cell(row)}
        </div>
      ))}
    </div>
  );
});

function countText({ items, hasMore, isFormer, isLoadingMore, problem }: PagedList<unknown>): string {
  if (problem !== null) return `${formatNumber(items.length)} loaded. ${problem.message}`;
  if (isFormer) return 'Filtering';
  if (isLoadingMore) return `${formatNumber(items.length)} loaded, reading more`;
  return hasMore ? `${formatNumber(items.length)} loaded, more below` : `${formatNumber(items.length)} in all`;
}
