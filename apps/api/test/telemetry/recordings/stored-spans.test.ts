import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedSpans } from '../dialects/recorded-uses.ts';

const RECORDINGS = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length));

/** All content of the recorded programs has a word that begins so. */
const MARKER = /content-marker-[a-z-]+/;

test('the recordings hold content to leave out', () => {
  const withContent = RECORDINGS.filter((recording) => MARKER.test(JSON.stringify(recordedSpans(recording))));
  expect(withContent.length).toBeGreaterThan(0);
});

test.each(RECORDINGS)('%s: no content is left in what is stored of its spans', (recording) => {
  const filter = contentFilter({ keepContent: false });
  const stored = recordedSpans(recording).map((span) => filter(span, readSpan(span).dialect));
  expect(stored.filter((span) => MARKER.test(JSON.stringify(span)))).toEqual([]);
});
