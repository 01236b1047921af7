/** When the hour of a time begins, in UTC. @param time milliseconds since 1970 */
export function hourOf(time: number): string {
  return `${new Date(time).toISOString().slice(0, 13)}:00:00.000Z`;
}

/** When the day of a time begins, in UTC. @param time milliseconds since 1970 */
export function dayOf(time: number): string {
  return `${new Date(time).toISOString().slice(0, 10)}T00:00:00.000Z`;
}
