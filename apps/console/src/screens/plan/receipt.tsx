import { type AppliedRecommendations, undoRecommendations } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { plural } from '../../components/format.ts';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import classes from './plan.module.css';
import { totalsOf } from './totals.ts';

/** What was applied, at one provider or several. */
export type AppliedPlan = Pick<AppliedRecommendations, 'applied' | 'revokedSessions'>;

/** What was just applied, with one undo for all of it. */
export function Receipt({ receipt, close }: { receipt: AppliedPlan; close: () => void }): ReactNode {
  const { applied, revokedSessions } = receipt;
  const providers = new Set(applied.map(({ providerId }) => providerId)).size;
  const undo = useAction({
    run: async () => {
      let undone = 0;
      for (const applyId of applyIdsOf(receipt)) {
        const { data } = await undoRecommendations({
          path: { apply_id: applyId },
          headers: idempotencyKey(),
          throwOnError: true,
        });
        undone += data.undone.length;
      }
      return undone;
    },
    done: (undone) => `${plural(undone, 'change')} undone.`,
    onDone: close,
  });
  return (
    <section className={classes.receipt} aria-label="Receipt">
      <div className="grow">
        <strong>
          Applied: {totalsOf(applied)}
          {providers > 1 && ` at ${plural(providers, 'provider')}`}
        </strong>
        <div className="dim">
          {revokedSessions.length === 0
            ? 'No session ended.'
            : `${plural(revokedSessions.length, 'session')} ended. An undo does not bring them back.`}
        </div>
      </div>
      <ActionButton
        scope="recommendations:apply"
        variant="default"
        loading={undo.isPending}
        onClick={() => undo.mutate()}
      >
        Undo all of it
      </ActionButton>
      <ActionButton scope={null} variant="subtle" onClick={close}>
        Close
      </ActionButton>
    </section>
  );
}

/** One for each tenant. */
function applyIdsOf({ applied }: AppliedPlan): string[] {
  return [...new Set(applied.flatMap(({ applyId }) => applyId ?? []))];
}
