import { ROOT, run } from './run.ts';
import { runSuites } from './suites.ts';

// `npm run test:full`: the full form of every suite on both databases, then of the torture suite. It takes hours.
const options = { flags: process.argv.slice(2), environment: { QM_TEST_FULL: '1' } };
const quick = await runSuites('test', options);
const deep = await runSuites('test:deep', options);
const torture = await run('node', [`${ROOT}torture/src/run.ts`]);
process.exitCode = quick !== 0 || deep !== 0 || torture !== 0 ? 1 : 0;
