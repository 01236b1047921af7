import { onTestFinished, vi } from 'vitest';

/**
 * Sets the clock ahead by which the services of this process measure durations, such as the age of what they cache. It is right
 * again at the end of the test.
 */
export function passDuration(milliseconds: number): void {
  const now = performance.now.bind(performance);
  const ahead = vi.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
  onTestFinished(() => ahead.mockRestore());
}
