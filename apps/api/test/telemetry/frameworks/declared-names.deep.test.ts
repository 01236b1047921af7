import { expect, test } from 'vitest';
import { readNames, readSpan } from '../../../src/telemetry/frameworks/read.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';
import { readRecordings } from '../recordings/recording.ts';
import { telemetryOf } from '../recordings/undeclared-calls.ts';
import { recordingOf } from '../written/program.ts';
import { PROGRAMS } from '../written/programs.ts';

/** Monocle numbers its entities, and looks for up to eight. */
const NUMBERED = /^entity\.\d\./;

test('frameworks declare every attribute that their functions read', () => {
  const undeclared = new Set<string>();
  const watched = (attributes: Attributes) => {
    // Only a fixed name is looked up in spans without it. Other names come from listing the attributes of a span.
    const has = (_: Attributes, name: string | symbol) => {
      if (name in attributes) return true;
      if (typeof name === 'string' && name !== '' && !readNames.has(name) && !NUMBERED.test(name)) undeclared.add(name);
      return false;
    };
    return new Proxy(attributes, { has, get: (_, name) => (has(_, name) ? Reflect.get(attributes, name) : undefined) });
  };
  for (const recording of [...readRecordings(), ...PROGRAMS.map(recordingOf)]) {
    for (const request of telemetryOf(recording)) {
      if (!('spans' in request)) continue;
      for (const span of request.spans) readSpan({ ...span, attributes: watched(span.attributes) });
    }
  }
  expect([...undeclared]).toEqual([]);
});

test('the names of read attributes are short enough for the protobuf decoder', () => {
  expect([...readNames].filter((name) => Buffer.byteLength(name) > 256)).toEqual([]);
});
