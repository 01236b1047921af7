import { expect, test } from 'vitest';
import { readLogRecord, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { source } from './source.ts';

test('a log event that no dialect lists is not read', () => {
  const scope = { name: 'app', version: null, attributes: {} };
  const record = { eventName: 'started', body: 'started', attributes: { model: 'm' }, scope, resource: {} };
  expect(readLogRecord(record)).toEqual({ dialect: null, facts: null, uses: [] });
});

test.each([
  ['10.0.0.5:8080', '10.0.0.5', null],
  ['[2001:db8::1]:443', '2001:db8::1', null],
  ['gateway:4000', 'gateway', null],
  // The name of a vendor, although it is a host as well.
  ['x.ai', null, 'x_ai'],
])('a vendor that is written as %s is the address %s', (written, serverAddress, vendor) => {
  const attributes = { 'gen_ai.provider.name': written, 'gen_ai.request.model': 'gpt-5' };
  expect(readSpan(source(attributes)).facts).toMatchObject({ serverAddress, vendor });
});
