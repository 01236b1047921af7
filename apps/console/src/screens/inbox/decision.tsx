import type { Recommendation, ReviewDecision, RuntimeObservation } from '@quartermaster/client';
import { Button, Textarea } from '@mantine/core';
import { memo, type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { useKeys } from '../../components/hotkeys.ts';
import { PrincipalName } from '../../components/principal.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Time } from '../../components/time.tsx';
import { useLatestHandler } from '../../components/use-latest-handler.ts';
import { useMissingScope } from '../../data/me.ts';
import { useSetUrlState } from '../../data/url-state.ts';
import { isBlock, kindsToApply, useApproveAndApply, useReview } from './actions.ts';
import classes from './panel.module.css';
import { useRecommendationsOf } from './queries.ts';

const EFFECTS: Record<Recommendation['kind'], string> = {
  register_item: 'One item becomes available to agents.',
  adopt_provider: 'The provider becomes active, and agents may use it.',
  accept_drift: 'The new definition replaces the approved one.',
  block_item: 'The item is blocked, and sessions that grant it end.',
  retire_item: 'The item is retired.',
  rotate_credential: 'The credential is to be rotated.',
  confirm_removals: 'The items that the provider no longer lists are missing.',
  allow_in_manifest:
    'The manifest that denies it gets one entry more, in a new version, and the gateways that used it use the new version.',
};

const NOTHING_TO_APPLY = 'Nothing is recommended for it.';

const NOT_READ_YET = 'Reading what is recommended for it.';

type Props = {
  observation: RuntimeObservation;
  /** The next observation of the list that needs a decision. */
  nextOpen: string | undefined;
};

/**
 * The buttons of a decision, and what each of them does. Moving to another row does not make them anew, which would take a
 * third of the time. So what belongs to the former row is told apart by its id.
 */
export function Decision({ observation, nextOpen }: Props): ReactNode {
  const [typed, setTyped] = useState({ of: observation.id, note: '' });
  const note = typed.of === observation.id ? typed.note : '';
  const changeNote = useLatestHandler((text: string) => setTyped({ of: observation.id, note: text }));
  const recommendations = useRecommendationsOf(observation);
  const kinds = recommendations === undefined ? [] : kindsToApply(observation, recommendations);
  const isNothing = kinds.length === 0;
  const nothing = recommendations === undefined ? NOT_READ_YET : NOTHING_TO_APPLY;
  const review = useReview();
  const approveAndApply = useApproveAndApply();
  const place = observation;
  const mayReview = useMissingScope('runtime_observations:review', place) === null;
  const decide = (decision: ReviewDecision) => {
    if (mayReview && !isRunning(review, observation)) review.mutate({ observation, decision, note });
  };
  const applyMissing = useMissingScope('recommendations:apply', place);
  const apply = () => {
    if (mayReview && !isNothing && applyMissing === null && !isRunning(approveAndApply, observation)) {
      approveAndApply.mutate({ observation, kinds, note });
    }
  };
  useKeys({
    a: () => decide('approved'),
    p: apply,
    r: () => decide('rejected'),
    i: () => decide('ignored'),
  });
  const isDecided = observation.status !== 'open';
  const setState = useSetUrlState();
  return (
    <div className="stack">
      {isDecided && (
        <p>
          This is <strong>{observation.status}</strong>
          {observation.review !== null && (
            <>
              , decided by <PrincipalName principal={observation.review.reviewedBy} />{' '}
              <Time at={observation.review.reviewedAt} />
            </>
          )}
          . Another decision replaces it.
        </p>
      )}
      {isDecided && nextOpen !== undefined && (
        // Who has no keyboard would have to go back to the list.
        <div className="qm-choices">
          <Button variant="default" onClick={() => setState({ item: nextOpen })}>
            Next open one
          </Button>
          <span>The next of the list that needs a decision.</span>
        </div>
      )}
      <NoteField note={note} change={changeNote} />
      <div className="qm-choices">
        <ActionButton scope="runtime_observations:review" place={place} shortcut="a" onClick={() => decide('approved')}>
          Approve
        </ActionButton>
        <span>Nothing changes until it is applied.</span>
        <ActionButton
          scope="runtime_observations:review"
          place={place}
          variant="default"
          disabledReason={isNothing ? nothing : applyMissing}
          shortcut="p"
          loading={isRunning(approveAndApply, observation)}
          onClick={apply}
        >
          {isBlock(kinds) ? 'Block' : 'Approve and apply'}
        </ActionButton>
        <span>{isNothing ? nothing : kinds.map((kind) => EFFECTS[kind]).join(' ')}</span>
        <ActionButton
          scope="runtime_observations:review"
          place={place}
          variant="default"
          shortcut="r"
          onClick={() => decide('rejected')}
        >
          Reject
        </ActionButton>
        <span>
          {observation.occurrences === 0 &&
            observation.unknown &&
            'It is not asked again until its definition changes. '}
          The next use brings it back and recommends a block.
          {observation.unknown && !isBlock(kinds) && (
            <>
              {' '}
              <BlockLink observation={observation} />
            </>
          )}
        </span>
        <ActionButton
          scope="runtime_observations:review"
          place={place}
          variant="default"
          shortcut="i"
          onClick={() => decide('ignored')}
        >
          Ignore
        </ActionButton>
        <span>Nothing changes, and further calls do not bring it back.</span>
      </div>
    </div>
  );
}

/** Leads to the form that blocks what nothing declares. */
function BlockLink({ observation: { providerId, kind, name } }: { observation: RuntimeObservation }): ReactNode {
  return (
    <RowLink path={`/providers/${providerId}`} search={{ new: '1', kind, name, status: 'blocked' }}>
      Block it now
    </RowLink>
  );
}

type Running = { isPending: boolean; variables: { observation: RuntimeObservation } | undefined };

function isRunning({ isPending, variables }: Running, { id }: RuntimeObservation): boolean {
  return isPending && variables?.observation.id === id;
}

const NoteField = memo(function NoteField({
  note,
  change,
}: {
  note: string;
  change: (note: string) => void;
}): ReactNode {
  return (
    <Textarea
      aria-label="Note"
      placeholder="Why? The note is kept with the decision."
      rows={1}
      resize="vertical"
      classNames={{ input: classes.noteField }}
      maxLength={2000}
      value={note}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
});
