import { recordingOf } from '../written/program.ts';
import { PROGRAMS } from '../written/programs.ts';
import { contentTests } from './content-markers.ts';
import { readRecordings } from './recording.ts';

contentTests([
  ...readRecordings().flatMap(({ id, requests }) =>
    (['texts', 'names', 'encoded'] as const).map((into) => ({ name: id, into, requests })),
  ),
  {
    name: 'of all written programs',
    into: 'texts',
    requests: PROGRAMS.flatMap((program) => recordingOf(program).requests),
    withApplication: true,
  },
]);
