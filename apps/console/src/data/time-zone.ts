import { useMe } from './me.ts';

/** Used unless the user chose another one in the profile. */
export const BROWSER_TIME_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The zone of every time on every screen. */
export function useTimeZone(): string {
  return useMe().timeZone ?? BROWSER_TIME_ZONE;
}
