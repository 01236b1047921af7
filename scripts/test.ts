import { runSuites } from './suites.ts';

// `npm test`: every check, and the usual form of every suite.
process.exitCode = await runSuites({ flags: process.argv.slice(2) });
