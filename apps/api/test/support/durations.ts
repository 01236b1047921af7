import { onTestFinished, vi } from 'vitest';

/** Sets the clock ahead by which the service measures durations in this process, such as the age of what it caches, until the end of the test. */
export function passDuration(milliseconds: number): void {
  const now = performance.now.bind(performance);
  const ahead = vi.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
  onTestFinished(() => ahead.mockRestore());
}
