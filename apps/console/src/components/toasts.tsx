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

/**
 * Tells what happened, without taking the focus. A message that asks for nothing ends at the next click, which goes to what is below
 * it: a message may lie over a button.
 */
export function showToast(toast: Toast): void {
  lastId += 1;
  const id = lastId;
  change([...toasts.slice(-2), { ...toast, id }]);
  if (toast.isProblem === true) return;
  const closed = new AbortController();
  const end = () => {
    closed.abort();
    close(id);
  };
  setTimeout(end, toast.action === undefined ? SHOWN_MS : WITH_ACTION_MS);
  if (toast.action === undefined) document.addEventListener('pointerdown', end, { signal: closed.signal });
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
        <div
          key={id}
          className={classes.toast}
          data-problem={isProblem}
          data-passing={isProblem !== true && action === undefined}
        >
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
          <CloseButton className={classes.close} size="xs" aria-label="Close message" onClick={() => close(id)} />
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
