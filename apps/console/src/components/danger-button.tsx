import type { Scope } from '@quartermaster/client';
import { type ReactNode, useState } from 'react';
import type { Place } from '../data/rights.ts';
import { ActionButton } from './action-button.tsx';
import { ConfirmDialog } from './confirm-dialog.tsx';

type Action = { mutate: (input: void, options?: { onSuccess: () => void }) => void; isPending: boolean };

type Props = {
  scope: Scope;
  place?: Place;
  size?: 'compact-xs';
  /** Why it cannot be pressed. */
  disabledReason?: string | null;
  /** The text of the button. */
  children: string;
  /** The question, and what happens in whole sentences. */
  title: string;
  consequence: ReactNode;
  /** The text of the button that does it. */
  confirm: string;
  /** What it does, as `useAction` makes it. */
  action: Action;
  /** What takes it back: it is in the place of the button, and asks nothing. */
  opposite?: { label: string; action: Action } | null;
};

/** A button that ends something: it looks so, and asks before it does it. */
export function DangerButton(props: Props): ReactNode {
  const { children, title, consequence, confirm, action, opposite = null, ...button } = props;
  const [isAsking, setAsking] = useState(false);
  const close = () => setAsking(false);
  return (
    <>
      {/* One element for both, so that it keeps the focus. */}
      <ActionButton
        {...button}
        variant="default"
        isDanger={opposite === null}
        loading={opposite?.action.isPending ?? false}
        onClick={() => (opposite === null ? setAsking(true) : opposite.action.mutate())}
      >
        {opposite?.label ?? children}
      </ActionButton>
      {isAsking && (
        <ConfirmDialog
          title={title}
          consequence={consequence}
          confirm={confirm}
          isPending={action.isPending}
          onConfirm={() => action.mutate(undefined, { onSuccess: close })}
          close={close}
        />
      )}
    </>
  );
}
