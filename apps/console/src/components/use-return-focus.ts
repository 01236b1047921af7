import { useEffect, useState } from 'react';

/**
 * Gives the focus back to what had it before a dialog opened. Mantine does so only for dialogs that stay in the page while they are
 * closed, and these are there only while they are open. Otherwise keyboards and screen readers start again at the top of the page.
 */
export function useReturnFocus(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // After the dialog has left the page.
      setTimeout(() => {
        if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus();
      });
    },
    [opener],
  );
}
