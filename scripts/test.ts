import { runSuites } from './suites.ts';

// `npm test`: every check, and the quick form of every suite.
process.exitCode = await runSuites('test', { flags: process.argv.slice(2) });
