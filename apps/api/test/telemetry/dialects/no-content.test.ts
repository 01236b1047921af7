import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { contentFilter } from '../../../src/telemetry/content/content.ts';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
import { recordedSpans } from './recorded-uses.ts';

const FOLDER = new URL('../recordings/', import.meta.url);
const NAMES = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length));

test.each(NAMES)('%s: no content is kept of its spans, and none is read into facts', (name) => {
  const { markers } = JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8')) as { markers: string[] };
  const filter = contentFilter({ keepContent: false });
  const spans = recordedSpans(name);
  const kept = spans.map((span) => {
    const { dialect, facts, uses } = readSpan(span);
    return { span: filter(span, dialect), facts, uses };
  });
  const found = (text: string) => markers.filter((marker) => text.includes(marker));
  // The markers are in what was sent, so that the search finds them.
  if (spans.length > 0) expect(found(JSON.stringify(spans))).not.toEqual([]);
  for (const one of kept) expect(found(JSON.stringify(one)), one.span.name).toEqual([]);
});
