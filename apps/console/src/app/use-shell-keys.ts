import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useKeys } from '../components/hotkeys.ts';
import { runLatestAction } from '../components/toasts.tsx';
import { usePermittedNavigation } from './use-permitted-navigation.ts';

/** How long after `g` the second key counts. */
const SEQUENCE_MS = 1200;

/** The keys that work on every screen: ⌘K or Ctrl K, ?, z and g with a letter. */
export function useShellKeys({ openPalette, openHelp }: { openPalette: () => void; openHelp: () => void }): void {
  const navigate = useNavigate();
  const navigation = usePermittedNavigation();
  const pressedGAt = useRef(0);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        openPalette();
        return;
      }
      // Before the keys of the screen: after `g` a letter means a screen.
      const isTyping = event.target instanceof HTMLElement && event.target.closest('input,textarea,[contenteditable]');
      const isInSequence = Date.now() - pressedGAt.current < SEQUENCE_MS;
      if (isTyping || event.metaKey || event.ctrlKey || event.altKey || !isInSequence) return;
      const entry = navigation.flatMap(({ entries }) => entries).find(({ key }) => key === event.key);
      if (entry === undefined) return;
      pressedGAt.current = 0;
      event.preventDefault();
      event.stopPropagation();
      void navigate({ to: entry.path });
    };
    document.addEventListener('keydown', listen, true);
    return () => document.removeEventListener('keydown', listen, true);
  }, [navigate, navigation, openPalette]);
  useKeys({
    '?': openHelp,
    z: runLatestAction,
    g: () => {
      pressedGAt.current = Date.now();
    },
  });
}
