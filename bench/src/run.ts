import { join } from 'node:path';
import { argumentsOrExit } from '@quartermaster/api/src/commands/read-arguments.ts';
import { optionsOf, USAGE } from './options.ts';
import { fails } from './report.ts';
import { runSuite, WORKLOADS, writeReport } from './suite.ts';

const REPORT = join(import.meta.dirname, '../reports/bench.json');

// On a signal, exit normally, so that all child processes are ended as well.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const options = argumentsOrExit(USAGE, (argv) => optionsOf(argv, Object.keys(WORKLOADS)));
const findings = await runSuite(options, { providers: 100, tenants: 100, spansOfTrace: 1000 }, (text) => {
  process.stdout.write(text);
});
await writeReport(REPORT, options, findings);
const failed = findings.flatMap(({ figures }) => figures.filter(fails));
process.stdout.write(`figures: ${REPORT}\n`);
if (options.quick) process.stdout.write('a quick run: its figures are not judged\n');
else if (failed.length > 0) {
  process.stdout.write(`below 0.9 of what was agreed: ${failed.map(({ name }) => name).join(', ')}\n`);
  process.exitCode = 1;
}
