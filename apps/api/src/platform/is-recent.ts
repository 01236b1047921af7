/**
 * Whether a moment is less than `ms` ago. False for a moment in the future, which means that the clock was set back. Otherwise
 * cached values and refusals would last until the clock has caught up.
 *
 * @param at the moment, in milliseconds
 */
export function isRecent(at: number, ms: number, now: Date): boolean {
  const age = now.getTime() - at;
  return age >= 0 && age < ms;
}
