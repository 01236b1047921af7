import type { KeyTelemetry } from '@quartermaster/client';
import { Fragment, type ReactNode } from 'react';
import { formatNumber, plural } from '../../components/format.ts';
import { StateMark } from '../../components/marks.tsx';
import { Time } from '../../components/time.tsx';

type State = { state: string; tone: 'live' | 'quiet' | 'danger' };

type Props = State & { health: KeyTelemetry };

/** How well the telemetry of a key arrives, in a few words. */
export function stateOf({ understood, notUnderstood }: KeyTelemetry): State {
  if (understood > 0) return { state: 'Connected', tone: 'live' };
  const state = notUnderstood > 0 ? 'Received, but nothing was understood' : 'Nothing was counted';
  return { state, tone: 'danger' };
}

/** What was sent with a key: received, understood, not understood, refused; and what to do. */
export function Health({ health, state, tone }: Props): ReactNode {
  const { spans, logRecords, understood, lastReceivedAt, lastUnderstoodAt, fix, unread, problems } = health;
  return (
    <>
      <div className="row wraps">
        <StateMark state={state} tone={tone} />
        {lastReceivedAt !== null && (
          <span className="dim">
            {plural(spans, 'span')} and {plural(logRecords, 'log record')}, {formatNumber(understood)} understood, the
            last <Time at={lastReceivedAt} />
            {lastUnderstoodAt !== null && (
              <>
                , last understood <Time at={lastUnderstoodAt} />
              </>
            )}
          </span>
        )}
      </div>
      {fix !== null && <p>{fix}</p>}
      {unread.length > 0 && (
        <p className="dim">
          Not understood:{' '}
          {unread.map(({ scope, spans: own, logRecords: logs, lastReceivedAt: lastAt }, index) => (
            <Fragment key={scope}>
              {index > 0 && ', '}
              {`${scope} (${formatNumber(own + logs)})`}, last <Time at={lastAt} />
            </Fragment>
          ))}
        </p>
      )}
      {problems.map(({ reason, requests, detail, fix: todo, lastAt }) => (
        <p key={reason}>
          <strong>{reason.replaceAll('_', ' ')}</strong>
          <span className="dim">
            {' '}
            {formatNumber(requests)} ×, the last <Time at={lastAt} />
          </span>
          <br />
          {detail !== null && `${detail} `}
          {todo}
        </p>
      ))}
    </>
  );
}
