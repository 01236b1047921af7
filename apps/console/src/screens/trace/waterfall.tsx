import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { formatDuration } from '../../components/format.ts';
import { useKeys } from '../../components/hotkeys.ts';
import { Icon } from '../../components/icons.tsx';
import { scrollIntoView } from '../../components/scroll-into-view.ts';
import { Minimap } from './minimap.tsx';
import { usePrefetchedSpan } from './span-panel.tsx';
import { type Row, type Tree, visibleRows } from './span-tree.ts';
import classes from './trace.module.css';
import { UseMark } from './use-mark.tsx';

const ROW_HEIGHT = 26;
const OVERSCAN = 10;
const INDENT = 14;
/** Deeper spans are not indented further: the name would have no room. */
const MAX_INDENTS = 14;
const TICKS = 5;

type Props = {
  traceId: string;
  tree: Tree;
  /** The index of the selected row; -1 for none. */
  selected: number;
  /** The rows that a search found; null without a search. */
  found: ReadonlySet<number> | null;
  select: (index: number | undefined) => void;
};

/** The spans of a trace, one below the other, as bars over time. Only the rows in view are in the page. */
export function Waterfall({ traceId, tree, selected, found, select }: Props): ReactNode {
  const { rows, duration } = tree;
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const visible = useMemo(() => visibleRows(tree, closed), [tree, closed]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: visible.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
  });
  const position = visible.indexOf(selected);
  useEffect(() => {
    if (position >= 0) scrollIntoView(virtualizer, { top: position * ROW_HEIGHT, height: ROW_HEIGHT });
  }, [position, virtualizer]);

  usePrefetchedSpan(traceId, position < 0 ? undefined : rows[visible[position + 1] ?? -1]?.span);
  const toggle = useCallback((spanId: string, isOpen?: boolean) => {
    setClosed((before) => {
      const next = new Set(before);
      if (isOpen ?? before.has(spanId)) next.delete(spanId);
      else next.add(spanId);
      return next;
    });
  }, []);
  const moveTo = (next: number) => select(visible[Math.max(0, Math.min(visible.length - 1, next))]);
  const spanId = rows[selected]?.span.spanId;
  useKeys({
    j: () => moveTo(position + 1),
    k: () => moveTo(position - 1),
    ArrowDown: () => moveTo(position + 1),
    ArrowUp: () => moveTo(position - 1),
    ArrowLeft: () => spanId !== undefined && toggle(spanId, false),
    ArrowRight: () => spanId !== undefined && toggle(spanId, true),
  });
  return (
    <div className={classes.frame}>
      <Minimap
        tree={tree}
        visible={visible}
        goTo={(index) => virtualizer.scrollToIndex(index, { align: 'center' })}
        range={virtualizer.range === null ? null : [virtualizer.range.startIndex, virtualizer.range.endIndex]}
      />
      <div className={classes.axis} aria-hidden="true">
        <span />
        <div className={classes.ticks}>
          {Array.from({ length: TICKS }, (_, tick) => (
            <span key={tick}>{formatDuration((duration * tick) / TICKS)}</span>
          ))}
        </div>
      </div>
      <div ref={scroller} className={classes.scroller} tabIndex={0} role="region" aria-label="Spans, scrollable">
        <div
          role="treegrid"
          aria-label="Spans"
          aria-rowcount={visible.length}
          style={{ height: virtualizer.getTotalSize() }}
          className={classes.rows}
        >
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const rowIndex = visible[index] ?? -1;
            const row = rows[rowIndex];
            if (row === undefined) return null;
            return (
              <SpanRow
                key={row.span.spanId}
                row={row}
                index={rowIndex}
                position={index}
                top={start}
                duration={duration}
                isSelected={rowIndex === selected}
                isDimmed={found !== null && !found.has(rowIndex)}
                isClosed={closed.has(row.span.spanId)}
                toggle={toggle}
                select={select}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

type RowProps = {
  row: Row;
  index: number;
  position: number;
  top: number;
  duration: number;
  isSelected: boolean;
  isDimmed: boolean;
  isClosed: boolean;
  toggle: (spanId: string) => void;
  select: (index: number) => void;
};

const SpanRow = memo(function SpanRow(props: RowProps): ReactNode {
  const { row, index, position, top, duration, isSelected, isDimmed, isClosed, toggle, select } = props;
  const { span, depth, start, end, childCount, isError } = row;
  const scale = duration === 0 ? 0 : 100 / duration;
  return (
    <div
      role="row"
      aria-level={depth + 1}
      aria-rowindex={position + 1}
      aria-selected={isSelected}
      {...(childCount > 0 && { 'aria-expanded': !isClosed })}
      className={classes.row}
      data-selected={isSelected}
      data-dimmed={isDimmed}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => select(index)}
    >
      <div role="gridcell" className={classes.name} style={{ paddingLeft: 8 + Math.min(depth, MAX_INDENTS) * INDENT }}>
        {childCount > 0 ? (
          <button
            type="button"
            className={classes.toggle}
            aria-label={isClosed ? 'Open' : 'Close'}
            tabIndex={-1}
            onClick={(event) => {
              event.stopPropagation();
              toggle(span.spanId);
            }}
          >
            <Icon name={isClosed ? 'right' : 'down'} size={12} />
          </button>
        ) : (
          <span className={classes.toggle} />
        )}
        {isError && (
          <span className="danger" title={span.errorType ?? 'Error'}>
            <Icon name="warning" size={13} />
          </span>
        )}
        <span className="truncate">{span.name}</span>
        {isClosed && <span className="dim num">+{childCount}</span>}
        {span.uses[0] !== undefined && (
          <span className={classes.use} onClick={(event) => event.stopPropagation()}>
            <UseMark use={span.uses[0]} />
          </span>
        )}
      </div>
      <div role="gridcell" className={classes.lane}>
        <svg className={classes.bar} aria-hidden="true" focusable="false">
          <rect
            x={`${start * scale}%`}
            width={`${Math.max(0.15, (end - start) * scale)}%`}
            y="7"
            height="12"
            rx="2"
            data-kind={kindOf(row)}
          />
        </svg>
        <span className={classes.duration}>{formatDuration(span.durationMs)}</span>
      </div>
    </div>
  );
});

/** The kind of work that a span reports. It decides how its bar is filled. */
function kindOf({ span: { genAi }, isError }: Row): string {
  if (isError) return 'error';
  if (genAi === null) return 'other';
  if (genAi.tool !== null) return 'tool';
  return genAi.model === null ? 'agent' : 'model';
}
