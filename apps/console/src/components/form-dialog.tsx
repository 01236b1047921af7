import { Button, Modal } from '@mantine/core';
import { type ReactNode, type FormEvent } from 'react';
import { problemOf } from '../data/problem.ts';

type Props = {
  title: string;
  submit: string;
  close: () => void;
  /** What the button does, as `useAction` makes it. */
  save: { mutate: () => void; isPending: boolean; error: Error | null };
  /** Why it cannot be sent yet. */
  incomplete?: boolean;
  size?: number;
  children: ReactNode;
};

/** A dialog with fields and one button. What the server refuses stands above the button. */
export function FormDialog(props: Props): ReactNode {
  const { title, submit, close, save, incomplete = false, size = 460, children } = props;
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!incomplete && !save.isPending) save.mutate();
  };
  return (
    <Modal opened onClose={close} title={title} size={size}>
      <form className="stack" onSubmit={send}>
        {children}
        {save.error !== null && (
          <p role="alert" className="danger">
            {problemOf(save.error).message}
          </p>
        )}
        <div className="row">
          <Button type="submit" loading={save.isPending} disabled={incomplete}>
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
