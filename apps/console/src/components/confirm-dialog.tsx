import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { useReturnFocus } from './use-return-focus.ts';

type Props = {
  title: string;
  /** What happens, in whole sentences. */
  consequence: ReactNode;
  confirm: string;
  isPending: boolean;
  onConfirm: () => void;
  close: () => void;
};

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({ title, consequence, confirm, isPending, onConfirm, close }: Props): ReactNode {
  useReturnFocus();
  return (
    <Modal opened onClose={close} title={title}>
      <div className="stack">
        <div>{consequence}</div>
        <div className="row">
          <Button color="red.9" loading={isPending} onClick={onConfirm}>
            {confirm}
          </Button>
          <Button variant="default" onClick={close} data-autofocus>
            Cancel
          </Button>
        </div>
      </div>
    </Modal>
  );
}
