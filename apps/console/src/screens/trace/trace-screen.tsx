import { getTraceWaterfall } from '@quartermaster/client';
import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { formatDuration, formatNumber, plural } from '../../components/format.ts';
import { useKeys } from '../../components/hotkeys.ts';
import { Icon } from '../../components/icons.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty, Failed, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { problemOf } from '../../data/problem.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
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
  const nextError = () => select(nextAfter(errorRows));
  useKeys({ n: nextError, Escape: () => select(undefined) });
  const root = rows[0]?.span;
  const row = rows[selected];
  return (
    <Screen
      title={title}
      above={<Link to="/traces">Traces</Link>}
      summary={
        <div className="row">
          <Time at={root?.startTime} />
          <span className="num">{formatDuration(duration)}</span>
          <span>{plural(rows.length, 'span')}</span>
          <span className={errorRows.length > 0 ? 'danger' : ''}>{plural(errorRows.length, 'error')}</span>
          <CopyId id={traceId} />
          {!isComplete && <strong>Only the first {formatNumber(rows.length)} spans are shown.</strong>}
        </div>
      }
      request={{ method: 'GET', path: `/v1/traces/${traceId}/waterfall` }}
      actions={
        <>
          <TextInput
            aria-label="Find spans by name"
            placeholder="Find spans"
            leftSection={<Icon name="search" size={14} />}
            rightSection={found === null ? null : <span className="num dim">{found.size}</span>}
            value={typed}
            onChange={(event) => {
              setTyped(event.currentTarget.value);
            }}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || found === null) return;
              setState({ q: typed });
              select(nextAfter([...found]));
            }}
          />
          <ActionButton
            scope={null}
            variant="default"
            shortcut="n"
            disabledReason={errorRows.length === 0 ? 'No span failed.' : null}
            onClick={nextError}
          >
            Next error
          </ActionButton>
        </>
      }
    >
      <div className="split">
        <Waterfall tree={tree} selected={selected} found={found} select={select} />
        {row !== undefined && <SpanPanel traceId={traceId} row={row} close={() => select(undefined)} />}
      </div>
    </Screen>
  );
}
