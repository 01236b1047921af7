import { type RefObject, useEffect, useLayoutEffect, useState } from 'react';

/** What had the focus before the last dialog opened, and what is around it, from the inside out. */
let lastOpeners: readonly Element[] = [];

/**
 * Gives the focus back to what had it before a dialog opened. Mantine does so only for dialogs that stay in the page while they are
 * closed, and these are there only while they are open. Otherwise keyboards and screen readers start again at the top of the page.
 * If that has left the page, such as the button of a record that has ended, the panel or screen around it gets the focus.
 */
export function useReturnFocus(): void {
  const [openers] = useState(() => {
    const around = ancestorsOf(document.activeElement);
    // The button that a dialog was opened with may be in another dialog, which closes at the same time.
    const isInDialog = around.some((element) => element.getAttribute('role') === 'dialog');
    lastOpeners = isInDialog ? [...around, ...lastOpeners] : around;
    return lastOpeners;
  });
  useEffect(() => () => giveFocusTo(openers), [openers]);
}

/** If an element has the focus when it leaves the page, such as the button for a task that has ended, what is around it gets the focus. */
export function usePassOnFocus(ref: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = ref.current;
    return () => {
      if (element === document.activeElement) giveFocusTo(ancestorsOf(element));
    };
  }, [ref]);
}

/** Gives the focus to the first element that takes it, after the dialog or button that had it has left the page. */
function giveFocusTo(elements: readonly Element[]): void {
  setTimeout(() => {
    if (document.activeElement === document.body) elements.some(takesFocus);
  });
}

/** An element and what is around it, without the whole page. */
function ancestorsOf(element: Element | null): Element[] {
  const found: Element[] = [];
  for (let each = element; each !== null && each !== document.body; each = each.parentElement) found.push(each);
  return found;
}

/** Tries to give an element the focus. Elements that have left the page do not take it, nor do most that are no button or field. */
function takesFocus(element: Element): boolean {
  if (element instanceof HTMLElement) element.focus({ preventScroll: true });
  return document.activeElement === element;
}
