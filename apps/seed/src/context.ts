import type { Client } from '@quartermaster/client/client/index.ts';
import type { Random } from './random.ts';

/** What every step of a run needs. */
export type Context = {
  url: string;
  /** Acts as the platform administrator. */
  admin: Client;
  random: Random;
  /** Multiplies traces and observations. */
  scale: number;
  /** When the run started. All times are relative to it. */
  now: Date;
  /** Remarks about data that could not be created on this server. */
  notes: string[];
};

export const DAY_MS = 24 * 3600 * 1000;

export function daysFrom({ now }: Pick<Context, 'now'>, days: number): string {
  return new Date(now.getTime() + days * DAY_MS).toISOString();
}
