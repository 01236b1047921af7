import { Button, Modal } from '@mantine/core';
import { type ReactNode, type FormEvent } from 'react';
import type { ApiProblem } from '../data/problem.ts';

type Props = {
  title: string;
  submit: string;
  close: () => void;
  onSubmit: () => void;
  isPending: boolean;
  problem?: ApiProblem | null;
  /** Why it cannot be sent yet. */
  incomplete?: boolean;
  size?: number;
  children: ReactNode;
};

/** A dialog with fields and one button. What the server refuses stands above the button. */
export function FormDialog(props: Props): ReactNode {
  const { title, submit, close, onSubmit, isPending, problem, incomplete = false, size = 460, children } = props;
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!incomplete && !isPending) onSubmit();
  };
  return (
    <Modal opened onClose={close} title={title} size={size}>
      <form className="stack" onSubmit={send}>
        {children}
        {problem != null && (
          <p role="alert" className="danger">
            {problem.message}
          </p>
        )}
        <div className="row">
          <Button type="submit" loading={isPending} disabled={incomplete}>
            {submit}
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Modal>
  );
}
