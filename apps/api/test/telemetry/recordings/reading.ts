import { expect } from 'vitest';
import type { TestServer } from '../../support/server.ts';
import { compare, type Row } from './compare.ts';
import { KNOWN_DEVIATIONS } from './known-deviations.ts';
import type { Recording } from './recording.ts';
import { replay } from './replay.ts';

/** Replays a recording twice: with everything that it uses declared as available, and then as blocked. */
export async function readRow(server: TestServer, recording: Recording): Promise<Row> {
  const outcome = await replay(server, recording, 'available');
  const blocked = await replay(server, recording, 'blocked');
  return compare(recording, { outcome, blocked });
}

/** The same of one replay, with everything blocked: half the time, for `npm test`. */
export async function readBlockedRow(server: TestServer, recording: Recording): Promise<Row> {
  const blocked = await replay(server, recording, 'blocked');
  return compare(recording, { outcome: blocked, blocked });
}

/** Expects that a recording is read correctly, except for its known deviations. */
export function expectRead({ id, cannotKnow: reasons }: Recording, { deviations }: Row): void {
  const { cannotKnow = [], gaps = [] } = KNOWN_DEVIATIONS[id] ?? {};
  expect(deviations.toSorted()).toEqual([...cannotKnow, ...gaps].toSorted());
  // The recording has to explain why its telemetry does not contain them.
  if (cannotKnow.length > 0) expect(reasons).not.toEqual([]);
}
