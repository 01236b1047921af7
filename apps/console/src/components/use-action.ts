import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { type ApiProblem, problemOf } from '../data/problem.ts';
import { showToast } from './toasts.tsx';

type Options<Input, Output> = {
  run: (input: Input) => Promise<Output>;
  /** What to say afterwards; null: nothing. */
  done: (output: Output, input: Input) => string | null;
  /** Whether a form shows the refusal, so that no message is needed. */
  inForm?: boolean;
  /** If it returns a promise, what is shown is read again when that is fulfilled. */
  onDone?: (output: Output, input: Input) => void | Promise<void>;
  /** Updates what is shown from the answer. Other data are read again only when a screen asks for them next. */
  updateCache?: (client: QueryClient, output: Output) => Promise<void> | void;
};

/** Something that the user asks for: it is done, everything shown is read again, and a message says what happened. */
export function useAction<Input = void, Output = unknown>({
  run,
  done,
  inForm = false,
  onDone,
  updateCache,
}: Options<Input, Output>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: run,
    meta: { updatesCache: updateCache !== undefined },
    onSuccess: async (output, input) => {
      await updateCache?.(client, output);
      const text = done(output, input);
      if (text !== null) showToast({ text });
      await onDone?.(output, input);
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
  return status === 412 ? 'It has changed since you saw it, so nothing was done. Look at it again.' : message;
}
