import { CHECKS, runTasks } from './tasks.ts';

// Format, lint, types, dead code, boundaries between workspaces, generated files. Prints only what is wrong.
process.exitCode = await runTasks(CHECKS, { flags: ['--output-logs=errors-only', ...process.argv.slice(2)] });
