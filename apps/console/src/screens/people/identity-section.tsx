import { allowIdentityRelink, type IdentityRelink, withdrawIdentityRelink } from '@quartermaster/client';
import { getIdentityRelinkOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Section } from '../../components/side-panel.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';

const RUNS = { allow: allowIdentityRelink, withdraw: withdrawIdentityRelink } as const;

/** Lets another identity take over a person whose identity was replaced at the identity provider. For platform administrators. */
export function IdentitySection({ userId, name }: { userId: string; name: string }): ReactNode {
  const [isAsking, setIsAsking] = useState(false);
  const { data } = useQuery(getIdentityRelinkOptions({ path: { user_id: userId } }));
  const change = useAction({
    run: (what: keyof typeof RUNS) =>
      RUNS[what]({ path: { user_id: userId }, headers: idempotencyKey(), throwOnError: true }),
    done: (_, what) =>
      what === 'allow' ? `The next sign-in of ${name} takes over.` : `No other identity of ${name} takes over.`,
    onDone: () => setIsAsking(false),
  });
  return (
    <Section title="Identity">
      <Permission relink={data} />
      {data?.allowedUntil == null ? (
        <ActionButton scope="users:write" variant="default" size="compact-sm" onClick={() => setIsAsking(true)}>
          Let another identity take over
        </ActionButton>
      ) : (
        <ActionButton scope="users:write" variant="default" size="compact-sm" onClick={() => change.mutate('withdraw')}>
          Withdraw that
        </ActionButton>
      )}
      {isAsking && (
        <ConfirmDialog
          title={`Let another identity take over ${name}?`}
          consequence="For 24 hours, the next person who signs in with this verified email gets every right of this person, once. Their sessions end then. Make sure that the email still belongs to the same person."
          confirm="Let it take over"
          isPending={change.isPending}
          onConfirm={() => change.mutate('allow')}
          close={() => setIsAsking(false)}
        />
      )}
    </Section>
  );
}

function Permission({ relink }: { relink: IdentityRelink | undefined }): ReactNode {
  if (relink?.allowedUntil == null) {
    return <p>A person whose account at the identity provider was replaced is refused, until you allow the new one.</p>;
  }
  return (
    <p>
      The next sign-in with the verified email takes over, until <Time at={relink.allowedUntil} />. Allowed by{' '}
      {relink.allowedBy}.
    </p>
  );
}
