import { ROOT, run } from './run.ts';
import { runSuites } from './suites.ts';

// `npm run test:full`: the long form of every suite on both databases, then of the torture suite. It takes hours.
const suites = await runSuites({ flags: process.argv.slice(2), environment: { QM_TEST_FULL: '1' } });
const torture = await run('node', [`${ROOT}torture/src/run.ts`]);
process.exitCode = suites !== 0 || torture !== 0 ? 1 : 0;
