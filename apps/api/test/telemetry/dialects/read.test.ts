import { expect, test } from 'vitest';
import { readLogRecord } from '../../../src/telemetry/dialects/read.ts';

test('a log event that no dialect lists is not read', () => {
  const scope = { name: 'app', version: null, attributes: {} };
  const record = { eventName: 'started', body: 'started', attributes: { model: 'm' }, scope, resource: {} };
  expect(readLogRecord(record)).toEqual({ dialect: null, facts: null, uses: [] });
});
