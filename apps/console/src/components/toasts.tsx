import { Button, CloseButton } from '@mantine/core';
import { type ReactNode, useSyncExternalStore } from 'react';
import classes from './toasts.module.css';

type Toast = {
  text: string;
  /** Shown until it is closed. */
  isProblem?: boolean;
  action?: { label: string; run: () => void };
};

type ShownToast = Toast & { id: number };

const SHOWN_MS = 6000;
const WITH_ACTION_MS = 15_000;

let toasts: readonly ShownToast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

/** Tells what happened, without taking the focus. */
export function showToast(toast: Toast): void {
  lastId += 1;
  const id = lastId;
  change([...toasts.slice(-2), { ...toast, id }]);
  if (toast.isProblem === true) return;
  setTimeout(() => close(id), toast.action === undefined ? SHOWN_MS : WITH_ACTION_MS);
}

/** Runs the action of the newest toast that has one: what the key `z` does. */
export function runLatestAction(): void {
  const latest = toasts.findLast(({ action }) => action !== undefined);
  if (latest?.action === undefined) return;
  close(latest.id);
  latest.action.run();
}

export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <section className={classes.toasts} aria-label="Messages" aria-live="polite">
      {shown.map(({ id, text, isProblem, action }) => (
        <div key={id} className={classes.toast} data-problem={isProblem}>
          <span className="grow">{text}</span>
          {action !== undefined && (
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => {
                close(id);
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <CloseButton size="xs" aria-label="Close message" onClick={() => close(id)} />
        </div>
      ))}
    </section>
  );
}

function close(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

function change(next: readonly ShownToast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
