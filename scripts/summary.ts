import { glob, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { regexEscaped } from './regular-expressions.ts';
import { ROOT } from './run.ts';

type Report = { [count in 'numPassedTests' | 'numPendingTests' | 'numTodoTests']?: number } & {
  testResults?: TestFile[];
};
type TestFile = { name: string; status?: string; message?: string; assertionResults?: Assertion[] };
type Assertion = { ancestorTitles?: string[]; title: string; status: string; failureMessages?: string[] };

type Task = {
  taskId: string;
  directory: string;
  outputs: string[] | null;
  logFile: string;
  execution?: { exitCode: number };
};

/** The files to which vitest writes its results. A workspace may have several suites. */
const REPORTS = ['{apps,packages}/*/reports/vitest*.json', '{bench,torture}/reports/vitest*.json'];

/** The files to which turbo writes what it ran, if it is asked to. */
const RUNS = '.turbo/runs/*.json';

/** The longest error message that the summary shows, in characters. */
const MAX_MESSAGE = 800;

/** How much of the output of a task the summary shows, in characters. */
const MAX_OUTPUT = 4000;

/** Removes what earlier runs wrote: a suite that crashes must not be counted by its last report. */
export async function removeReports(): Promise<void> {
  for await (const path of glob([...REPORTS, RUNS], { cwd: ROOT })) await rm(join(ROOT, path));
}

/** Prints what failed and, as the last line, how many tests passed. @returns whether tests ran and nothing failed */
export async function printSummary(): Promise<boolean> {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const explained = new Set<string>();
  let reports = 0;
  for await (const path of glob(REPORTS, { cwd: ROOT })) {
    const report = JSON.parse(await readFile(join(ROOT, path), 'utf8')) as Report;
    reports += 1;
    const failures = failuresOf(report);
    if (failures.length > 0) explained.add(path);
    for (const failure of failures) process.stdout.write(`${failure}\n`);
    total.passed += report.numPassedTests ?? 0;
    total.failed += failures.length;
    total.skipped += (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0);
  }
  for (const task of await failedTasks()) {
    if (task.outputs?.some((output) => explained.has(join(task.directory, output)))) continue;
    process.stdout.write(`${await failureOfTask(task)}\n`);
    total.failed += 1;
  }
  process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
  return reports > 0 && total.failed === 0;
}

/** Each failed test and each failed hook, with its message and the command that runs it alone. */
function failuresOf({ testResults = [] }: Report): string[] {
  return testResults.flatMap(({ name, status, message = '', assertionResults = [] }) => {
    const file = relative(ROOT, name);
    const failures = assertionResults
      .filter((test) => test.status === 'failed')
      .map(({ ancestorTitles = [], title, failureMessages = [] }) => {
        // The form that vitest's `-t` matches. The report's `fullName` joins with spaces instead.
        const fullName = [...ancestorTitles, title].join(' > ');
        return [
          `failed: ${file} > ${fullName}`,
          failureMessages.join('\n').slice(0, MAX_MESSAGE),
          `run it alone: npm run test:one -- ${file} -t ${shellQuoted(regexEscaped(fullName))}`,
        ].join('\n');
      });
    // A file has a message only if it could not be loaded or one of its hooks failed.
    if (message !== '' || (status === 'failed' && failures.length === 0))
      failures.push(`failed: ${file}\n${message.slice(0, MAX_MESSAGE)}\nrun it alone: npm run test:one -- ${file}`);
    return failures;
  });
}

async function failedTasks(): Promise<Task[]> {
  const failed: Task[] = [];
  for await (const path of glob(RUNS, { cwd: ROOT })) {
    const { tasks } = JSON.parse(await readFile(join(ROOT, path), 'utf8')) as { tasks: Task[] };
    failed.push(...tasks.filter(({ execution }) => execution !== undefined && execution.exitCode !== 0));
  }
  return failed;
}

/** A check that failed, or a suite that failed without a failed test, such as by an error that came after its test. */
async function failureOfTask({ taskId, logFile }: Task): Promise<string> {
  const output = stripVTControlCharacters(await readFile(join(ROOT, logFile), 'utf8'));
  // Vitest writes errors outside of tests under this heading, after the results of the tests.
  const errors = output.indexOf('Unhandled Error');
  const shown = errors === -1 ? output.slice(-MAX_OUTPUT) : output.slice(errors, errors + MAX_OUTPUT);
  return `failed: ${taskId}\n${shown.trim()}\nrun it alone: npx turbo run ${taskId}`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
