import { listRuntimeObservations, type RuntimeObservation, type Span } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { CopyId } from '../../components/copy.tsx';
import { formatDuration, formatNumber } from '../../components/format.ts';
import { MeaningMark, StateMark, Tag } from '../../components/marks.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { meaningOf } from '../inbox/meaning.ts';
import type { Row } from './span-tree.ts';
import classes from './trace.module.css';

export function SpanPanel({ row: { span, start }, close }: { row: Row; close: () => void }): ReactNode {
  const { genAi, status } = span;
  return (
    <SidePanel
      label={`Span ${span.name}`}
      close={close}
      heading={
        <>
          <h2>{span.name}</h2>
          <div className="row">
            <Tag>{span.kind}</Tag>
            {status.code === 'error' ? <StateMark state="error" tone="danger" /> : <StateMark state={status.code} />}
            <span className="num">{formatDuration(span.durationMs)}</span>
          </div>
        </>
      }
    >
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
              ['Agent', genAi.agent && <Used key="agent" span={span} kind="agent" name={genAi.agent} />],
              ['Model', genAi.model && <Used key="model" span={span} kind="model" name={genAi.model} />],
              ['Tool', genAi.tool && <Used key="tool" span={span} kind="tool" name={genAi.tool} />],
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
    </SidePanel>
  );
}

type UsedProps = { span: Span; kind: RuntimeObservation['kind']; name: string };

/** A model, tool or agent by name, with what is known of it, linked to its observation. */
function Used({ span, kind, name }: UsedProps): ReactNode {
  const query = { tenant_id: span.tenantId, kind, name, limit: 20 };
  const { data } = useQuery({
    queryKey: ['observations-of-name', query],
    queryFn: async ({ signal }) => (await listRuntimeObservations({ query, signal, throwOnError: true })).data.items,
    retry: false,
  });
  const observation = data?.find(({ subTenantId }) => subTenantId === span.subTenantId) ?? data?.[0];
  if (observation === undefined) return name;
  return (
    <span className="row">
      <Link to="/inbox" search={(before) => ({ tenant: before['tenant'], view: 'all', q: name, item: observation.id })}>
        {name}
      </Link>
      <MeaningMark meaning={meaningOf(observation)} />
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
            <th scope="row">{name}</th>
            <td>{typeof value === 'string' ? value : JSON.stringify(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
