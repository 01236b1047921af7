import type { Locator } from 'playwright-core';
import { expect } from 'vitest';

/** At least as long as the console waits before it asks a server again. */
const PAUSE_MS = 3000;

/**
 * Waits until something is shown, and lets the clock of its page jump meanwhile: the console waits for seconds before it asks a
 * server again that did not answer. The page needs a clock that was installed, which all pages of its window share.
 */
export async function shownLater(target: Locator): Promise<void> {
  const isShown = async () => {
    await target.page().clock.fastForward(PAUSE_MS);
    return target.isVisible();
  };
  await expect.poll(isShown).toBe(true);
}
