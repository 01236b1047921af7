import { type Recommendation, undoRecommendation, undoRecommendations } from '@quartermaster/client';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyId } from '../../components/copy.tsx';
import { plural, words } from '../../components/format.ts';
import { StateMark, Tag } from '../../components/marks.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { providerLabel, useProviders } from '../../data/names.ts';
import { ChangedFields, nameOfChange } from '../plan/change-list.tsx';

type Props = {
  recommendation: Recommendation;
  /** The other changes of the same apply that are listed. */
  others: readonly Recommendation[];
  /** Whether the list goes on, so that the apply may have more. */
  hasMore: boolean;
  close: () => void;
};

export function ChangePanel({ recommendation, others, hasMore, close }: Props): ReactNode {
  const { id, kind, status, reason, providerId, appliedAt, appliedBy, dismissal, observationIds } = recommendation;
  const { byId } = useProviders();
  const name = nameOfChange(recommendation);
  const undo = useAction({
    run: () => undoRecommendation({ path: { recommendation_id: id }, headers: idempotencyKey(), throwOnError: true }),
    done: () => `${name} is as it was before. The recommendation is open again.`,
    onDone: close,
  });
  return (
    <SidePanel
      label={`Change of ${name}`}
      close={close}
      heading={
        <>
          <h2>{name}</h2>
          <div className="row">
            <StateMark state={status} />
            <Tag>{words(kind)}</Tag>
          </div>
        </>
      }
      footer={
        status === 'applied' ? (
          <div className="stack">
            <div className="row">
              <ActionButton
                scope="recommendations:apply"
                place={recommendation}
                variant="default"
                loading={undo.isPending}
                onClick={() => undo.mutate()}
              >
                Undo
              </ActionButton>
              {recommendation.applyId !== null && (others.length > 0 || hasMore) && (
                <UndoBatch
                  applyId={recommendation.applyId}
                  batch={[recommendation, ...others]}
                  hasMore={hasMore}
                  close={close}
                />
              )}
            </div>
            <span className="dim">
              Restores the state before it. Sessions that it ended stay ended. It is refused if later changes build on
              it.
            </span>
          </div>
        ) : undefined
      }
    >
      <Section title="Why">
        <p>{reason}</p>
        {dismissal !== null && <p>Dismissed because: {dismissal.reason}</p>}
      </Section>
      <Section title="What it changes">
        <ChangedFields recommendation={recommendation} />
      </Section>
      <Section title="Facts">
        <Facts
          facts={[
            [
              'Provider',
              <Link key="provider" to="/providers/$providerId" params={{ providerId }}>
                {providerLabel(byId.get(providerId), providerId)}
              </Link>,
            ],
            ['Applied', appliedAt === null ? null : <Time key="applied" at={appliedAt} />],
            ['Applied by', appliedBy === null ? null : <PrincipalName key="by" principal={appliedBy} />],
            ['Dismissed', dismissal === null ? null : <Time key="dismissed" at={dismissal.dismissedAt} />],
            [
              'Dismissed by',
              dismissal === null ? null : <PrincipalName key="dismisser" principal={dismissal.dismissedBy} />,
            ],
            [
              'Observation',
              observationIds[0] === undefined ? null : (
                <Link
                  key="observation"
                  to="/inbox"
                  search={(before) => ({ tenant: before['tenant'], view: 'all', item: observationIds[0] })}
                >
                  Open it in the inbox
                </Link>
              ),
            ],
            ['Id', <CopyId key="id" id={id} />],
          ]}
        />
      </Section>
    </SidePanel>
  );
}

type UndoBatchProps = Pick<Props, 'hasMore' | 'close'> & { applyId: string; batch: readonly Recommendation[] };

/** Undoes everything that was applied at once, at all providers. */
function UndoBatch({ applyId, batch, hasMore, close }: UndoBatchProps): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const undo = useAction({
    run: async () => {
      const path = { apply_id: applyId };
      return (await undoRecommendations({ path, headers: idempotencyKey(), throwOnError: true })).data;
    },
    done: ({ undone }) => `${plural(undone.length, 'change')} undone.`,
    onDone: close,
  });
  const providers = new Set(batch.map(({ providerId }) => providerId)).size;
  const count = `${plural(batch.length, 'change')}${hasMore ? ' or more' : ''}`;
  return (
    <>
      <ActionButton
        scope="recommendations:apply"
        {...(batch[0] !== undefined && { place: batch[0] })}
        variant="default"
        onClick={() => setAsking(true)}
      >
        Undo all of it
      </ActionButton>
      {isAsking && (
        <ConfirmDialog
          title={`Undo ${count}?`}
          consequence={`They were applied at once, at ${plural(providers, 'provider')}${hasMore ? ' or more' : ''}. Either all of them are undone, or none, if later changes build on one of them. Sessions that they ended stay ended.`}
          confirm="Undo all of it"
          isPending={undo.isPending}
          onConfirm={() => undo.mutate()}
          close={() => setAsking(false)}
        />
      )}
    </>
  );
}
