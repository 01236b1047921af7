import { listTraceSpans, type Span, type SpanUse } from '@quartermaster/client';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode, useMemo } from 'react';
import { CopyId } from '../../components/copy.tsx';
import { formatDuration, formatNumber } from '../../components/format.ts';
import { StateMark, Tag } from '../../components/marks.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Failed, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { usePrefetchedNext } from '../../data/prefetch.ts';
import { problemOf } from '../../data/problem.ts';
import type { Row } from './span-tree.ts';
import classes from './trace.module.css';
import { UseMark } from './use-mark.tsx';

type Props = { traceId: string; row: Row; close: () => void };

/** The spans that have the id of an outline. Several may have it. */
const spanQuery = (traceId: string, { spanId, tenantId, subTenantId }: Row['span']) =>
  queryOptions({
    queryKey: ['span', traceId, spanId, tenantId, subTenantId],
    queryFn: async ({ signal }) => {
      const query = {
        span_id: spanId,
        tenant_id: tenantId,
        ...(subTenantId !== null && { sub_tenant_id: subTenantId }),
      };
      return (await listTraceSpans({ path: { trace_id: traceId }, query, signal, throwOnError: true })).data.items;
    },
  });

/** Reads the attributes and events of the span that comes next. */
export function usePrefetchedSpan(traceId: string, outline: Row['span'] | undefined): void {
  usePrefetchedNext(useMemo(() => outline && spanQuery(traceId, outline), [traceId, outline]));
}

/** One span. The waterfall has only its outline; attributes and events are read when the panel opens. */
export function SpanPanel({ traceId, row: { span: outline, start }, close }: Props): ReactNode {
  const { name, kind, error: hasFailed, errorType, durationMs } = outline;
  const { data, error, refetch } = useQuery(spanQuery(traceId, outline));
  // The outline tells which one is meant.
  const span = data?.find((each) => each.startTime === outline.startTime) ?? data?.[0];
  return (
    <SidePanel
      label={`Span ${name}`}
      close={close}
      heading={
        <>
          <h2>{name}</h2>
          <div className="row">
            <Tag>{kind}</Tag>
            {hasFailed && <StateMark state="error" tone="danger" />}
            {errorType !== null && <code className="danger">{errorType}</code>}
            <span className="num">{formatDuration(durationMs)}</span>
          </div>
        </>
      }
    >
      {span !== undefined && <SpanDetails span={span} uses={outline.uses} start={start} />}
      {span === undefined && error !== null && <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      {span === undefined && error === null && <Loading />}
    </SidePanel>
  );
}

function SpanDetails({ span, uses, start }: { span: Span; uses: readonly SpanUse[]; start: number }): ReactNode {
  const { genAi, status } = span;
  const findUse = (kind: SpanUse['kind']) => uses.find((use) => use.kind === kind);
  return (
    <>
      {status.message !== null && (
        <Section title="Error">
          <p className="danger">{status.message}</p>
        </Section>
      )}
      {genAi !== null && (
        <Section title="What it used">
          <Facts
            facts={[
              ['Operation', genAi.operation],
              ['Provider', genAi.provider],
              ['Agent', genAi.agent && <Used key="agent" name={genAi.agent} use={findUse('agent')} />],
              ['Model', genAi.model && <Used key="model" name={genAi.model} use={findUse('model')} />],
              ['Tool', genAi.tool && <Used key="tool" name={genAi.tool} use={findUse('tool')} />],
              [
                'Tokens',
                genAi.inputTokens === null && genAi.outputTokens === null
                  ? null
                  : `${formatNumber(genAi.inputTokens ?? 0)} in, ${formatNumber(genAi.outputTokens ?? 0)} out`,
              ],
              ['Conversation', genAi.conversationId],
            ]}
          />
        </Section>
      )}
      <Section title="Span">
        <Facts
          facts={[
            ['Service', span.serviceName],
            ['Started', <Time key="start" at={span.startTime} />],
            ['After the start', formatDuration(start)],
            ['Sent by', <PrincipalName key="from" principal={span.receivedFrom} />],
            ['Library', [span.scope.name, span.scope.version].filter((part) => part !== null).join(' ')],
            ['Span id', <CopyId key="id" id={span.spanId} />],
            ['Conflicting', span.conflicting ? 'It was sent twice with different contents.' : null],
          ]}
        />
      </Section>
      {span.events.map((event) => (
        <Section key={`${event.name}-${event.time}`} title={`Event ${event.name}`}>
          <AttributeTable attributes={event.attributes} />
        </Section>
      ))}
      <Section title="Attributes">
        <AttributeTable attributes={span.attributes} />
      </Section>
      <Section title="Resource">
        <AttributeTable attributes={span.resource} />
      </Section>
    </>
  );
}

/** A model, tool or agent by name, and whether it is declared. */
function Used({ name, use }: { name: string; use: SpanUse | undefined }): ReactNode {
  return (
    <span className="row">
      <span>{name}</span>
      {use !== undefined && <UseMark use={use} />}
    </span>
  );
}

function AttributeTable({ attributes }: { attributes: Record<string, unknown> }): ReactNode {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return <p className="dim">None.</p>;
  return (
    <table className={classes.attributes}>
      <tbody>
        {entries.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">
              {name.split(/(?<=[._])/).map((part, index) => (
                // oxlint-disable-next-line react/no-array-index-key -- The parts of one name never move.
                <Fragment key={index}>
                  {part}
                  <wbr />
                </Fragment>
              ))}
            </th>
            <td>{typeof value === 'string' ? value : JSON.stringify(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
