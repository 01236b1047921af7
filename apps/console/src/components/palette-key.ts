/** What the keyboard of the user calls the keys of the command palette. Both work everywhere. */
export const PALETTE_KEY = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K';
