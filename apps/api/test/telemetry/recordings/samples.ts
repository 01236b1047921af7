import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { prepareLogsOf } from '../../../src/telemetry/ingest/prepare-body.ts';
import { recordingOf } from '../written/program.ts';
import { PROGRAMS } from '../written/programs.ts';
import { type Recording, readRecordings } from './recording.ts';
import { telemetryOf } from './undeclared-calls.ts';

/** Larger recordings are left to the deep form: six of them took as long as forty others. */
const LARGEST_BYTES = 40_000;

/** A recording or a written program for each dialect that any small one uses. They are the smallest ones, because most are alike. */
export function oneForEachDialect(): Recording[] {
  const covered = new Set<string>();
  const small = [...readRecordings(), ...PROGRAMS.map(recordingOf)].filter((one) => sizeOf(one) <= LARGEST_BYTES);
  const smallestFirst = small.toSorted((a, b) => sizeOf(a) - sizeOf(b));
  return smallestFirst.filter((recording) => {
    const added = dialectsOf(recording).filter((dialect) => !covered.has(dialect));
    for (const dialect of added) covered.add(dialect);
    return added.length > 0;
  });
}

function sizeOf({ requests }: Recording): number {
  return requests.reduce((size, { body }) => size + body.length, 0);
}

function dialectsOf(recording: Recording): string[] {
  return telemetryOf(recording).flatMap((request) => {
    const found =
      'spans' in request
        ? request.spans.map((span) => readSpan(span).dialect)
        : prepareLogsOf(request.logs, { encoding: request.encoding, receivedAt: new Date() }).reporting.map(
            ({ reading }) => reading.dialect,
          );
    return found.filter((dialect) => dialect !== null);
  });
}
