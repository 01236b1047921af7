import { getTraceWaterfall } from '@quartermaster/client';
import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { memo, type ReactNode, useCallback, useMemo, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { formatDuration, formatNumber, plural } from '../../components/format.ts';
import { useKeys } from '../../components/hotkeys.ts';
import { Icon } from '../../components/icons.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty, Failed, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useLatestHandler } from '../../components/use-latest-handler.ts';
import { problemOf } from '../../data/problem.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { apiPath } from '../../data/curl.ts';
import { SpanPanel } from './span-panel.tsx';
import { type Tree, treeOf } from './span-tree.ts';
import { Waterfall } from './waterfall.tsx';

export function TraceScreen(): ReactNode {
  const { traceId } = useParams({ from: '/traces/$traceId' });
  const filter = useTenantFilter();
  const { data, error, refetch } = useQuery({
    queryKey: ['waterfall', traceId, filter],
    queryFn: async ({ signal }) => {
      const path = { trace_id: traceId };
      return (await getTraceWaterfall({ path, query: filter, signal, throwOnError: true })).data;
    },
  });
  const tree = useMemo(() => treeOf(data?.items ?? []), [data]);
  const root = tree.rows[0]?.span;
  const title = root?.name ?? 'Trace';
  if (error !== null) {
    return (
      <Screen title="Trace" above={<Link to="/traces">Traces</Link>}>
        <Failed problem={problemOf(error)} retry={() => void refetch()} />
      </Screen>
    );
  }
  if (data === undefined || root === undefined) {
    return (
      <Screen title="Trace" above={<Link to="/traces">Traces</Link>}>
        {data === undefined ? <Loading rows={14} /> : <Empty title="This trace has no spans left" />}
      </Screen>
    );
  }
  return <Loaded tree={tree} title={title} traceId={traceId} isComplete={data.nextCursor === null} />;
}

type LoadedProps = { tree: Tree; title: string; traceId: string; isComplete: boolean };

function Loaded({ tree, title, traceId, isComplete }: LoadedProps): ReactNode {
  const [state, setState] = useUrlState();
  const [typed, setTyped] = useState(state['q'] ?? '');
  const { rows, errorRows, duration } = tree;
  const selected = useMemo(() => rows.findIndex(({ span }) => span.spanId === state['span']), [rows, state]);
  const found = useMemo(() => {
    const text = typed.trim().toLowerCase();
    if (text === '') return null;
    return new Set(rows.flatMap(({ span }, index) => (span.name.toLowerCase().includes(text) ? [index] : [])));
  }, [rows, typed]);
  const select = useCallback(
    (index: number | undefined) => setState({ span: index === undefined ? undefined : rows[index]?.span.spanId }),
    [rows, setState],
  );
  const nextAfter = (indices: readonly number[]) => indices.find((index) => index > selected) ?? indices[0];
  const nextError = useLatestHandler(() => select(nextAfter(errorRows)));
  const nextFound = useLatestHandler(() => {
    if (found === null) return;
    setState({ q: typed });
    select(nextAfter([...found]));
  });
  useKeys({ n: nextError, Escape: () => select(undefined) });
  const root = rows[0]?.span;
  const row = rows[selected];
  return (
    <Screen
      title={title}
      above={<Link to="/traces">Traces</Link>}
      summary={
        <TraceSummary
          traceId={traceId}
          startTime={root?.startTime}
          duration={duration}
          count={rows.length}
          failed={errorRows.length}
          isComplete={isComplete}
        />
      }
      request={{ method: 'GET', path: apiPath`/v1/traces/${traceId}/waterfall` }}
      actions={
        <TraceActions
          typed={typed}
          type={setTyped}
          foundCount={found?.size ?? null}
          hasErrors={errorRows.length > 0}
          nextFound={nextFound}
          nextError={nextError}
        />
      }
    >
      <div className="split">
        <Waterfall traceId={traceId} tree={tree} selected={selected} found={found} select={select} />
        {row !== undefined && <SpanPanel traceId={traceId} row={row} close={() => select(undefined)} />}
      </div>
    </Screen>
  );
}

type SummaryProps = {
  traceId: string;
  startTime: string | undefined;
  duration: number;
  count: number;
  failed: number;
  isComplete: boolean;
};

/** Memoised, as the actions below: moving to another span does not draw the head of the page again. */
const TraceSummary = memo(function TraceSummary(props: SummaryProps): ReactNode {
  const { traceId, startTime, duration, count, failed, isComplete } = props;
  return (
    <div className="row">
      <Time at={startTime} />
      <span className="num">{formatDuration(duration)}</span>
      <span>{plural(count, 'span')}</span>
      <span className={failed > 0 ? 'danger' : ''}>{plural(failed, 'error')}</span>
      <CopyId id={traceId} />
      {!isComplete && <strong>Only the first {formatNumber(count)} spans are shown.</strong>}
    </div>
  );
});

type ActionsProps = {
  /** The name that is searched for. */
  typed: string;
  type: (text: string) => void;
  /** How many spans have it; null without a search. */
  foundCount: number | null;
  hasErrors: boolean;
  nextFound: () => void;
  nextError: () => void;
};

const TraceActions = memo(function TraceActions(props: ActionsProps): ReactNode {
  const { typed, type, foundCount, hasErrors, nextFound, nextError } = props;
  return (
    <>
      <TextInput
        aria-label="Find spans by name"
        placeholder="Find spans"
        leftSection={<Icon name="search" size={14} />}
        rightSection={foundCount !== null && <span className="num dim">{foundCount}</span>}
        value={typed}
        onChange={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') nextFound();
        }}
      />
      <ActionButton
        scope={null}
        variant="default"
        shortcut="n"
        isRepeatable
        disabledReason={hasErrors ? null : 'No span failed.'}
        onClick={nextError}
      >
        Next error
      </ActionButton>
    </>
  );
});
