import { applyProviderRecommendations, dismissRecommendation, type Recommendation } from '@quartermaster/client';
import { Textarea } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { useFormHeaders } from '../../data/form-headers.ts';
import { SKIP_REASONS } from '../../data/skip-reasons.ts';

type Props = {
  recommendation: Recommendation;
  /** What it changes, in words. */
  name: string;
  /** Whether it needs no decision before it is applied. */
  isApplicable: boolean;
};

/** Applies or dismisses one open recommendation, and leaves the others as they are. */
export function ChangeActions({ recommendation, name, isApplicable }: Props): ReactNode {
  const [isDismissing, setDismissing] = useState(false);
  const { id, providerId } = recommendation;
  const apply = useAction({
    run: async () => {
      const path = { provider_id: providerId };
      const body = { recommendationIds: [id] };
      return (await applyProviderRecommendations({ path, body, headers: idempotencyKey(), throwOnError: true })).data;
    },
    done: ({ applied }) => (applied.length === 0 ? null : `${name} was applied. It can be undone under Changes.`),
    onDone: ({ skipped: [first] }) => {
      if (first !== undefined) showToast({ text: `Not applied: it ${SKIP_REASONS[first.reason]}.`, isProblem: true });
    },
  });
  return (
    <div className="row">
      {isApplicable && (
        <ActionButton
          scope="recommendations:apply"
          place={recommendation}
          size="compact-xs"
          variant="default"
          loading={apply.isPending}
          onClick={() => apply.mutate()}
        >
          Apply only this
        </ActionButton>
      )}
      <ActionButton
        scope="recommendations:apply"
        place={recommendation}
        size="compact-xs"
        variant="default"
        onClick={() => setDismissing(true)}
      >
        Dismiss
      </ActionButton>
      {isDismissing && <DismissForm id={id} name={name} close={() => setDismissing(false)} />}
    </div>
  );
}

function DismissForm({ id, name, close }: { id: string; name: string; close: () => void }): ReactNode {
  const [reason, setReason] = useState('');
  const headersOf = useFormHeaders();
  const dismiss = useAction({
    run: () => {
      const path = { recommendation_id: id };
      return dismissRecommendation({ path, body: { reason }, headers: headersOf(reason), throwOnError: true });
    },
    inForm: true,
    done: () => `The change of ${name} was dismissed.`,
    onDone: close,
  });
  return (
    <FormDialog
      title={`Dismiss the change of ${name}?`}
      submit="Dismiss"
      close={close}
      save={dismiss}
      incomplete={reason.trim() === ''}
    >
      <p>Nothing changes, and it is not recommended again for the same cause.</p>
      <Textarea
        label="Reason"
        description="It is kept with the change and in the audit."
        required
        maxLength={2000}
        data-autofocus
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
