import { Button, Modal } from '@mantine/core';
import { type ReactNode, type FormEvent, useState } from 'react';
import { type ApiProblem, faultText, problemOf } from '../data/problem.ts';
import { useSessionEnded } from '../data/session.ts';
import { useReturnFocus } from './use-return-focus.ts';

type Props = {
  title: string;
  submit: string;
  close: () => void;
  /** What the button does, as `useAction` makes it. */
  save: { mutate: () => void; isPending: boolean; error: Error | null };
  /** Whether it ends something. */
  isDanger?: boolean;
  /** Why it cannot be sent yet. */
  incomplete?: boolean;
  size?: number;
  /** The labels of the fields that show what the server says about them (`fieldErrorsOf`), by their names in the request. */
  labels?: Record<string, string>;
  children: ReactNode;
};

const CHANGED_SINCE =
  'Another person has changed it since you opened this form, so nothing was saved. Close the form and open it again to see the change.';

/**
 * A dialog with fields and one button. What the server refuses stands at its field, or above the button. Once the user has typed,
 * only its buttons close it: a click beside it or Escape would lose the text.
 */
export function FormDialog(props: Props): ReactNode {
  const { title, submit, close, save, incomplete = false, isDanger = false, size = 460, labels, children } = props;
  const [isTouched, setTouched] = useState(false);
  useReturnFocus();
  // Escape in the dialog about the session would close this one, too.
  const keepsOpen = useSessionEnded() || isTouched;
  const problem = save.error === null ? null : problemOf(save.error);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!incomplete && !save.isPending) save.mutate();
  };
  return (
    <Modal opened onClose={close} closeOnClickOutside={!keepsOpen} closeOnEscape={!keepsOpen} title={title} size={size}>
      <form className="stack" onSubmit={send} onInput={() => setTouched(true)}>
        {children}
        {/* The dialog about the session says that it has ended. */}
        {problem !== null && problem.status !== 401 && (
          <p role="alert" className="danger">
            {problemText(problem, labels)}
          </p>
        )}
        <div className="row">
          <Button
            type="submit"
            {...(isDanger && { color: 'red.9' })}
            loading={save.isPending}
            disabled={incomplete}
            // The second click of a double click would send the form again.
            onClick={(event) => {
              if (event.detail > 1) event.preventDefault();
            }}
          >
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

/** What a form says above its button. Fields with a label say themselves what is wrong with them. */
export function problemText({ status, faults, message }: ApiProblem, labels: Record<string, string> = {}): string {
  if (status === 412) return CHANGED_SINCE;
  if (faults.length === 0) return message;
  const marked = [...new Set(faults.flatMap(({ where }) => labels[where] ?? []))];
  const others = faults.filter(({ where }) => labels[where] === undefined).map((fault) => faultText(fault));
  return [...(marked.length === 0 ? [] : [`Please correct: ${marked.join(', ')}`]), ...others].join('; ');
}
