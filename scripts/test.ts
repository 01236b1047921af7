import { glob, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, run } from './run.ts';

// Runs every check and every workspace's suite through turbo, then sums up what the suites themselves reported.
const TASKS = [
  'format:check',
  'lint',
  'dead-code',
  'boundaries',
  'generated',
  'document',
  'check:scripts',
  'check',
  'test',
];
const tasks = TASKS.map((task) => (['check', 'test'].includes(task) ? task : `//#${task}`));
const given = process.argv.slice(2);
for await (const path of reportPaths()) await rm(join(ROOT, path));
const environment = { TURBO_TELEMETRY_DISABLED: '1' };
const code = await run('turbo', ['run', ...tasks, '--continue', ...given], { environment });

const total = { passed: 0, failed: 0, skipped: 0 };
let reports = 0;
for await (const path of reportPaths()) {
  const report = JSON.parse(await readFile(join(ROOT, path), 'utf8')) as Record<string, number>;
  reports += 1;
  total.passed += report['numPassedTests'] ?? 0;
  total.failed += report['numFailedTests'] ?? 0;
  total.skipped += (report['numPendingTests'] ?? 0) + (report['numTodoTests'] ?? 0);
}
process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
process.exitCode = code !== 0 || total.failed > 0 || reports === 0 ? 1 : 0;

/** Where the suites report to. Removed before the run: a suite that crashes must not be counted by its last report. */
function reportPaths(): AsyncIterable<string> {
  return glob(['{apps,packages}/*/reports/vitest.json', '{bench,torture}/reports/vitest.json'], { cwd: ROOT });
}
