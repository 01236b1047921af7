import { useElementSize } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { formatCompact, formatMicroUsd, plural } from '../../components/format.ts';
import { type MarkedState, wordsOf } from './coverage.ts';
import type { MapLayout, MapLink, MapNode } from './layout.ts';
import classes from './map.module.css';

const NODE_WIDTH = 210;
const MIN_WIDTH = 760;
const COLUMN_TITLES = {
  agent: 'Agents, marked by their worst use',
  provider: 'Providers',
  item: 'Models, tools and agents',
} as const;
const MIN_STROKE = 1;
const MAX_STROKE = 9;

/** Nodes in three columns, and a line for each pair that met: the thicker, the more calls. */
export function MapDrawing({ layout, open }: { layout: MapLayout; open: (node: MapNode) => void }): ReactNode {
  const { ref, width: measured } = useElementSize();
  const [hovered, setHovered] = useState<MapNode | null>(null);
  const width = Math.max(MIN_WIDTH, measured);
  const xOf = ({ column }: Pick<MapNode, 'column'>) =>
    ({ agent: 20, provider: width / 2 - NODE_WIDTH / 2, item: width - NODE_WIDTH - 20 })[column];
  const related = hovered === null ? null : relatedTo(hovered, layout.links);
  const maxCalls = layout.links.reduce((most, { calls }) => Math.max(most, calls), 1);
  return (
    <div ref={ref} className={classes.frame}>
      {measured > 0 && (
        <svg
          width={width}
          height={layout.height}
          className={classes.map}
          aria-label="Map of agents and what they use"
          role="group"
        >
          {(['agent', 'provider', 'item'] as const).map((column) => (
            <text key={column} x={xOf({ column })} y={22} className={classes.heading}>
              {COLUMN_TITLES[column]}
            </text>
          ))}
          <g aria-hidden="true">
            {layout.links.map((link) => (
              <path
                key={link.id}
                className={classes.link}
                data-meaning={link.meaning}
                data-dimmed={related !== null && !related.has(link.id)}
                strokeWidth={strokeOf(link, maxCalls)}
                d={curve(xOf(link.from) + NODE_WIDTH, link.from.y, xOf(link.to), link.to.y)}
              />
            ))}
            {layout.links.map(
              ({ id, from, to, coverage }) =>
                coverage !== null && (
                  <CoverageMark
                    key={id}
                    state={coverage}
                    x={xOf(from) + NODE_WIDTH + (xOf(to) - xOf(from) - NODE_WIDTH) * MARK_AT.x}
                    y={from.y + (to.y - from.y) * MARK_AT.y}
                    isDimmed={related !== null && !related.has(id)}
                  />
                ),
            )}
          </g>
          {layout.nodes.map((node) => (
            <NodeBox
              key={node.id}
              node={node}
              x={xOf(node)}
              isDimmed={related !== null && !related.has(node.id)}
              hover={setHovered}
              open={open}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

/** Where a mark is: at a quarter of its curve, where the lines of an agent have parted. */
const MARK_AT = { x: 0.297, y: 0.156 };

/** Whether gateways decide about the calls of a link. The table says the same in words. */
export function CoverageMark({
  state,
  x,
  y,
  isDimmed = false,
}: {
  state: MarkedState;
  x: number;
  y: number;
  isDimmed?: boolean;
}): ReactNode {
  return (
    <g className={classes.mark} data-state={state} data-dimmed={isDimmed} transform={`translate(${x} ${y})`}>
      <title>{wordsOf(state)}</title>
      <circle r="7" />
      {state === 'enforced' && <path d="M-3 0l2 2.500 4-5" />}
      {state === 'observed_only' && <circle r="2.500" />}
      {(state === 'bypassed' || state === 'silent') && <path d="M0-3.500v4M0 3v.5" />}
    </g>
  );
}

type NodeProps = {
  node: MapNode;
  x: number;
  isDimmed: boolean;
  hover: (node: MapNode | null) => void;
  open: (node: MapNode) => void;
};

function NodeBox({ node, x, isDimmed, hover, open }: NodeProps): ReactNode {
  const { label, note, meaning, calls, microUsd, y } = node;
  const cost = microUsd === null ? '' : `, ${formatMicroUsd(microUsd)} by list prices`;
  // The mark of an agent shows the worst state of what it uses.
  const stateText = node.column === 'agent' ? `uses something ${meaning}` : meaning;
  return (
    <g
      role="button"
      tabIndex={0}
      className={classes.node}
      data-meaning={meaning}
      data-dimmed={isDimmed}
      transform={`translate(${x} ${y})`}
      onMouseEnter={() => hover(node)}
      onMouseLeave={() => hover(null)}
      onFocus={() => hover(node)}
      onBlur={() => hover(null)}
      onClick={() => open(node)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        open(node);
      }}
    >
      <title>{`${label} ${formatCompact(calls)}: ${note}, ${stateText}, ${plural(calls, 'call')}${cost}`}</title>
      <rect y={-12} width={NODE_WIDTH} height={24} rx={5} className={classes.box} />
      <g transform="translate(8 -6)" className={classes.shape}>
        {meaning === 'declared' && <circle cx="6" cy="6" r="4" fill="currentColor" />}
        {meaning === 'unknown' && <path d="M6 1l5 5-5 5-5-5z" fill="none" stroke="currentColor" strokeWidth="1.8" />}
        {meaning === 'blocked' && (
          <path d="M2 2h8v8H2zM3.5 8.5l5-5" fill="none" stroke="currentColor" strokeWidth="1.8" />
        )}
      </g>
      <text x={27} y={4} className={classes.label}>
        {shortened(label)}
      </text>
      <text x={NODE_WIDTH - 8} y={4} className={classes.calls}>
        {formatCompact(calls)}
      </text>
    </g>
  );
}

/** The ids of the nodes and links that a node is connected to, over the provider to both sides. */
function relatedTo(node: MapNode, links: readonly MapLink[]): Set<string> {
  const ids = new Set([node.id]);
  const follow = (from: MapNode, direction: 'from' | 'to') => {
    for (const link of links) {
      if (link[direction] !== from) continue;
      const next = direction === 'from' ? link.to : link.from;
      ids.add(link.id);
      if (ids.has(next.id)) continue;
      ids.add(next.id);
      follow(next, direction);
    }
  };
  follow(node, 'from');
  follow(node, 'to');
  return ids;
}

function strokeOf({ calls }: MapLink, maxCalls: number): number {
  return MIN_STROKE + (MAX_STROKE - MIN_STROKE) * (Math.log1p(calls) / Math.log1p(maxCalls)) ** 2;
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const bend = (x2 - x1) / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

/** SVG does not cut texts. */
const MAX_LABEL = 20;

function shortened(text: string): string {
  return text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text;
}
