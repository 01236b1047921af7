import type { AuditEvent } from '@quartermaster/client';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyId } from '../../components/copy.tsx';
import { formatNumber } from '../../components/format.ts';
import { StateMark } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { useUrlState } from '../../data/url-state.ts';
import { actorOf, textOfChange } from './audit-query.ts';
import { whatHappened } from './audit-words.ts';
import { TargetName } from './target-name.tsx';

const SCHEMES = { api_key: 'API key', bearer: 'bearer token', session: 'web console' };

export function AuditPanel({ event, close }: { event: AuditEvent; close: () => void }): ReactNode {
  const [, setState] = useUrlState();
  const { id, actor, scheme, keyId, operation, target, outcome, reason, decision, changedFields, changes, count } =
    event;
  const namedOnly = changedFields.filter((name) => !changes.some(({ field }) => isOrIsIn(field, name)));
  const principal = actorOf(event);
  const what = whatHappened(event);
  return (
    <SidePanel
      label={`Event ${what}`}
      close={close}
      heading={
        <>
          <h2>{what}</h2>
          <StateMark state={outcome} tone={outcome === 'success' ? 'quiet' : 'danger'} />
        </>
      }
      footer={
        <div className="row wraps">
          {actor.id !== null && (
            <Button
              variant="default"
              onClick={() => setState({ actor: actor.id ?? undefined, item: undefined }, { push: true })}
            >
              All by this actor
            </Button>
          )}
          {target !== null && (
            <Button variant="default" onClick={() => setState({ target: target.id, item: undefined }, { push: true })}>
              All about this target
            </Button>
          )}
        </div>
      }
    >
      <Section title="What happened">
        <Facts
          facts={[
            ['Decision', decision === null ? null : <strong key="decision">{decision}</strong>],
            ['When', <Time key="when" at={event.createdAt} />],
            ['Actor', principal === null ? actor.type : <PrincipalName key="actor" principal={principal} />],
            ['Signed in with', scheme === null ? null : SCHEMES[scheme]],
            ['Key', keyId === null ? null : <CopyId key="key" id={keyId} />],
            ['Target', target === null ? null : <TargetName key="what" event={event} />],
            ['Operation', <code key="operation">{operation}</code>],
            ['Target id', target === null ? null : <CopyId key="target" id={target.id} />],
            ['Reason', reason],
            ['Times', count === 1 ? null : formatNumber(count)],
            ['Place', placeOf(event)],
          ]}
        />
      </Section>
      {changedFields.length > 0 && (
        <Section title="What changed">
          <Facts
            facts={[
              ...changes.map((change): [string, ReactNode] => [
                change.field,
                <code key="values">{textOfChange(change)}</code>,
              ]),
              ['Without values', namedOnly.length === 0 ? null : namedOnly.join(', ')],
            ]}
          />
        </Section>
      )}
      <Section title="To find it elsewhere">
        <Facts
          facts={[
            ['Event', <CopyId key="id" id={id} />],
            ['Request', event.requestId === '' ? null : <CopyId key="request" id={event.requestId} />],
            ['Caller’s request', event.callerRequestId],
          ]}
        />
      </Section>
    </SidePanel>
  );
}

/** Whether a field is the named one, or a member of it. */
function isOrIsIn(field: string, name: string): boolean {
  return field === name || field.startsWith(`${name}.`);
}
