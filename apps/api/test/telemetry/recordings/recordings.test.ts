import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { compare, type Row } from './compare.ts';
import { KNOWN_DEVIATIONS } from './known-deviations.ts';
import { frameworksPage } from './page.ts';
import { type Recording, readRecordings } from './recording.ts';
import { replay } from './replay.ts';
import { recordingOf } from '../written/program.ts';
import { PROGRAMS } from '../written/programs.ts';

const PAGE = join(import.meta.dirname, '../../../../../docs/frameworks.md');

const recordings = [...readRecordings(), ...PROGRAMS.map(recordingOf)];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** What was read of each recording so far. A recording is replayed once. */
const rows = new Map<Recording, Promise<Row>>();

function rowOf(recording: Recording): Promise<Row> {
  const known = rows.get(recording) ?? readRow(recording);
  rows.set(recording, known);
  return known;
}

async function readRow(recording: Recording): Promise<Row> {
  const outcome = await replay(server, recording, 'available');
  const blocked = await replay(server, recording, 'blocked');
  return compare(recording, { outcome, blocked });
}

describe('telemetry of real frameworks is read correctly', () => {
  test.each(recordings.map((recording) => [recording.id, recording] as const))('%s', async (id, recording) => {
    const { deviations } = await rowOf(recording);
    const { cannotKnow = [], gaps = [] } = KNOWN_DEVIATIONS[id] ?? {};
    expect(deviations.toSorted()).toEqual([...cannotKnow, ...gaps].toSorted());
    // The recording has to explain why its telemetry does not contain them.
    if (cannotKnow.length > 0) expect(recording.cannotKnow).not.toEqual([]);
  });

  test('docs/frameworks.md is up to date (`npm run frameworks` writes it)', async () => {
    const entries: { recording: Recording; row: Row }[] = [];
    for (const recording of recordings) entries.push({ recording, row: await rowOf(recording) });
    await expect(frameworksPage(entries)).toMatchFileSnapshot(PAGE);
  });
});

test('every known deviation belongs to a recording', () => {
  expect(Object.keys(KNOWN_DEVIATIONS).filter((id) => !recordings.some((one) => one.id === id))).toEqual([]);
});
