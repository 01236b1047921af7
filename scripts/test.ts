import { glob, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
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

type Report = {
  [count in 'numPassedTests' | 'numPendingTests' | 'numTodoTests']?: number;
} & { testResults?: TestFile[] };
type TestFile = { name: string; status?: string; message?: string; assertionResults?: Assertion[] };
type Assertion = { ancestorTitles?: string[]; title: string; status: string; failureMessages?: string[] };

/** Of each failure, in characters: what a whole run printed before it is long gone. */
const SHOWN = 800;

const total = { passed: 0, failed: 0, skipped: 0 };
let reports = 0;
for await (const path of reportPaths()) {
  const report = JSON.parse(await readFile(join(ROOT, path), 'utf8')) as Report;
  reports += 1;
  const failures = failuresOf(report);
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  total.passed += report.numPassedTests ?? 0;
  total.failed += failures.length;
  total.skipped += (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0);
}
process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
process.exitCode = code !== 0 || total.failed > 0 || reports === 0 ? 1 : 0;

/** Each failed test and each failed hook, with its message and the command that runs it alone. */
function failuresOf({ testResults = [] }: Report): string[] {
  return testResults.flatMap(({ name, status, message = '', assertionResults = [] }) => {
    const file = relative(ROOT, name);
    const failures = assertionResults
      .filter((test) => test.status === 'failed')
      .map(({ ancestorTitles = [], title, failureMessages = [] }) => {
        // As vitest joins them for `-t`; the report's `fullName` has spaces instead.
        const fullName = [...ancestorTitles, title].join(' > ');
        return [
          `failed: ${file} > ${fullName}`,
          failureMessages.join('\n').slice(0, SHOWN),
          `run it alone: npm run test:one -- ${file} -t ${shellQuoted(regexEscaped(fullName))}`,
        ].join('\n');
      });
    // Only a file that could not be loaded, or whose hook failed, has a message of its own.
    if (message !== '' || (status === 'failed' && failures.length === 0))
      failures.push(`failed: ${file}\n${message.slice(0, SHOWN)}\nrun it alone: npm run test:one -- ${file}`);
    return failures;
  });
}

/** vitest takes the name for a regular expression. */
function regexEscaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Where the suites report to. Removed before the run: a suite that crashes must not be counted by its last report. */
function reportPaths(): AsyncIterable<string> {
  return glob(['{apps,packages}/*/reports/vitest.json', '{bench,torture}/reports/vitest.json'], { cwd: ROOT });
}
