import type { Locator } from 'playwright-core';
import { expect } from 'vitest';

/** At least as long as the console waits before it asks a server again. */
const PAUSE_MS = 3000;

/**
 * Waits until something is shown, or until it is not, and lets the clock of its page jump meanwhile: the console asks a server that does not answer
 * again only after seconds. The page needs a clock that was installed.
 */
export async function shownLater(target: Locator, expected = true): Promise<void> {
  const isShown = async () => {
    await target.page().clock.fastForward(PAUSE_MS);
    return target.isVisible();
  };
  await expect.poll(isShown).toBe(expected);
}
