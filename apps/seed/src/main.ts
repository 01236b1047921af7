/** The program behind `npm run seed`. */
import { runSeed } from './run-seed.ts';

process.exitCode = await runSeed({ commandLine: 'npm run seed --', argv: process.argv.slice(2) });
