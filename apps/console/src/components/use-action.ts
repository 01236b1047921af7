import { useMutation } from '@tanstack/react-query';
import { type ApiProblem, problemOf } from '../data/problem.ts';
import { showToast } from './toasts.tsx';

type Options<Input, Output> = {
  run: (input: Input) => Promise<Output>;
  /** What to say afterwards; null: nothing. */
  done: (output: Output, input: Input) => string | null;
  /** Whether a form shows the refusal, so that no message is needed. */
  inForm?: boolean;
  onDone?: (output: Output, input: Input) => void;
};

/** Something that the user asks for: it is done, everything shown is read again, and a message says what happened. */
export function useAction<Input = void, Output = unknown>({
  run,
  done,
  inForm = false,
  onDone,
}: Options<Input, Output>) {
  return useMutation({
    mutationFn: run,
    onSuccess: (output, input) => {
      const text = done(output, input);
      if (text !== null) showToast({ text });
      onDone?.(output, input);
    },
    onError: (error) => {
      const problem = problemOf(error);
      if (problem.status === 401 || inForm) return;
      showToast({ text: textOf(problem), isProblem: true });
    },
  });
}

function textOf({ kind, status, message }: ApiProblem): string {
  if (kind === 'fault') return `The console has a fault: ${message}`;
  return status === 412 ? `It has changed since you saw it. ${message}` : message;
}
