import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import type { Row } from './compare.ts';
import { KNOWN_DEVIATIONS } from './known-deviations.ts';
import { frameworksList, frameworksPage } from './page.ts';
import { type Recording, readRecordings } from './recording.ts';
import { expectRead, readRow } from './reading.ts';
import { recordingOf } from '../written/program.ts';
import { PROGRAMS } from '../written/programs.ts';

const PAGE = join(import.meta.dirname, '../../../../../docs/frameworks.md');

const LIST = join(import.meta.dirname, '../../../../console/src/screens/connect/frameworks.json');

const recordings = [...readRecordings(), ...PROGRAMS.map(recordingOf)];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** What was read of each recording so far. A recording is replayed once. */
const rows = new Map<Recording, Promise<Row>>();

function rowOf(recording: Recording): Promise<Row> {
  const known = rows.get(recording) ?? readRow(server, recording);
  rows.set(recording, known);
  return known;
}

describe('telemetry of real frameworks is read correctly', () => {
  test.each(recordings.map((recording) => [recording.id, recording] as const))('%s', async (_id, recording) => {
    expectRead(recording, await rowOf(recording));
  });

  test('the list of the console is up to date (`npm run frameworks` writes it)', async () => {
    await expect(frameworksList(recordings)).toMatchFileSnapshot(LIST);
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
