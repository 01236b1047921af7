import { useEffect, useRef } from 'react';

type Handlers = Record<string, (event: KeyboardEvent) => void>;

/**
 * Keys of a screen, by `event.key`. They do nothing while the user types, while a dialog is open, or with a modifier.
 *
 * @param handlers may be a new object each time
 */
export function useKeys(handlers: Handlers): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const handle = latest.current[event.key];
      if (handle === undefined) return;
      // Looking for a dialog searches the whole page.
      if (isTyping(event.target) || document.querySelector('[aria-modal=true]') !== null) return;
      // Enter on a link or button is the link's or button's own.
      if (event.key === 'Enter' && isPressable(event.target)) return;
      event.preventDefault();
      handle(event);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  const isTextField = target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type);
  return isTextField || target.closest('[role=menu],[role=listbox]') !== null;
}

function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('a,button,[role=tab],[role=menuitem]') !== null;
}
