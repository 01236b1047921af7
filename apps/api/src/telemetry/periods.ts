export const HOUR_MS = 3600 * 1000;
export const DAY_MS = 24 * HOUR_MS;

/** The start of the hour that a time is in, in UTC. @param time milliseconds since 1970 */
export function hourOf(time: number): string {
  return `${new Date(time).toISOString().slice(0, 13)}:00:00.000Z`;
}

/** The start of the day that a time is in, in UTC. @param time milliseconds since 1970 */
export function dayOf(time: number): string {
  return `${new Date(time).toISOString().slice(0, 10)}T00:00:00.000Z`;
}

/** The start of the day that a time is in, in UTC, in milliseconds since 1970. @param time milliseconds since 1970 */
export function startOfDay(time: number): number {
  return Math.floor(time / DAY_MS) * DAY_MS;
}
