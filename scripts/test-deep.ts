import { runSuites } from './suites.ts';

// `npm run test:deep`: everything that `npm test` leaves out.
process.exitCode = await runSuites('test:deep', { flags: process.argv.slice(2) });
