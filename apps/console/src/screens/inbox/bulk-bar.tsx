import type { ReviewDecision, RuntimeObservation } from '@quartermaster/client';
import { Button, Modal, Textarea } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { plural } from '../../components/format.ts';
import { useReturnFocus } from '../../components/use-return-focus.ts';
import { problemOf } from '../../data/problem.ts';
import { type BulkReport, type BulkTarget, MAX_AT_ONCE, useBulkReview } from './actions.ts';
import classes from './inbox.module.css';
import type { ObservationQuery } from './query.ts';

export const VERBS: Record<ReviewDecision, string> = { approved: 'Approve', rejected: 'Reject', ignored: 'Ignore' };

export const CONSEQUENCES: Record<ReviewDecision, string> = {
  approved: 'Nothing changes until the recommendations are applied.',
  rejected: 'If one of them is used again, it comes back and a block is recommended.',
  ignored: 'Further calls do not bring them back.',
};

type Props = {
  observations: readonly RuntimeObservation[];
  /** What the list shows, and how many that are; null where a decision about all of them makes no sense. */
  all: { filter: ObservationQuery; count: number } | null;
  /** Selects these alone. */
  choose: (observations: readonly RuntimeObservation[]) => void;
  clear: () => void;
};

/** One decision for everything that is selected, or for all that the filter matches. */
export function BulkBar({ observations, all, choose, clear }: Props): ReactNode {
  const [decision, setDecision] = useState<ReviewDecision | null>(null);
  const [wantsAll, setWantsAll] = useState(false);
  const isAll = wantsAll && all !== null;
  const target: BulkTarget = isAll ? { filter: all.filter, expectedCount: all.count } : { observations };
  const mayTakeAll = all !== null && all.count > observations.length && all.count <= MAX_AT_ONCE;
  return (
    <div className={classes.bulk} role="toolbar" aria-label="Decide about the selection">
      <span className="grow row">
        <strong>{summaryOf(target)}</strong>
        {!isAll && mayTakeAll && (
          <Button size="compact-xs" variant="subtle" onClick={() => setWantsAll(true)}>
            Take all {all.count} that match
          </Button>
        )}
        {observations.length > MAX_AT_ONCE && (
          <Button size="compact-xs" variant="subtle" onClick={() => choose(observations.slice(0, MAX_AT_ONCE))}>
            Take the first {MAX_AT_ONCE}
          </Button>
        )}
      </span>
      {(Object.keys(VERBS) as ReviewDecision[]).map((each) => (
        <ActionButton
          key={each}
          scope="runtime_observations:review"
          variant="default"
          isDanger={each === 'rejected'}
          disabledReason={observations.length > MAX_AT_ONCE ? `At most ${MAX_AT_ONCE} at once.` : null}
          onClick={() => setDecision(each)}
        >
          {VERBS[each]}
        </ActionButton>
      ))}
      <Button variant="subtle" color="gray" onClick={clear}>
        Clear
      </Button>
      {decision !== null && (
        <BulkDialog decision={decision} target={target} close={() => setDecision(null)} clear={clear} />
      )}
    </div>
  );
}

type DialogProps = { decision: ReviewDecision; target: BulkTarget; close: () => void; clear: () => void };

function BulkDialog({ decision, target, close, clear }: DialogProps): ReactNode {
  const [note, setNote] = useState('');
  const [report, setReport] = useState<BulkReport | null>(null);
  useReturnFocus();
  const bulk = useBulkReview((done) => {
    if (done.skipped.length > 0) return setReport(done);
    clear();
    close();
  });
  return (
    <Modal opened onClose={close} title={`${VERBS[decision]} ${plural(countOf(target), 'observation')}?`}>
      {report === null ? (
        <div className="stack">
          <p>{summaryOf(target)}.</p>
          <p className="dim">{CONSEQUENCES[decision]}</p>
          <Textarea
            label="Note for all of them"
            description="It is kept with each decision and in the audit."
            value={note}
            maxLength={2000}
            onChange={(event) => setNote(event.currentTarget.value)}
            data-autofocus
          />
          {bulk.error !== null && (
            <p role="alert" className="danger">
              {problemOf(bulk.error).message}
            </p>
          )}
          <div>
            <Button
              {...(decision === 'rejected' && { color: 'red.9' })}
              loading={bulk.isPending}
              onClick={() => bulk.mutate({ target, decision, note })}
            >
              {VERBS[decision]} {countOf(target)}
            </Button>
          </div>
        </div>
      ) : (
        <div className="stack">
          <p>
            {plural(report.decided, 'observation')} {decision}. Skipped: {report.skipped.length}.
          </p>
          <ul>
            {report.skipped.map(({ name, reason }) => (
              <li key={name}>
                <strong>{name}</strong>: {reason}.
              </li>
            ))}
          </ul>
        </div>
      )}
    </Modal>
  );
}

function countOf(target: BulkTarget): number {
  return 'observations' in target ? target.observations.length : target.expectedCount;
}

/** `12 selected: 9 tools, 3 models`. */
function summaryOf(target: BulkTarget): string {
  if (!('observations' in target)) return `All ${target.expectedCount} that match the view and its filters`;
  const kinds = Map.groupBy(target.observations, ({ kind }) => kind);
  const parts = [...kinds].map(([kind, rows]) => plural(rows.length, kind));
  return `${target.observations.length} selected: ${parts.join(', ')}`;
}
