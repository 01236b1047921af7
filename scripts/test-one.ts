import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { regexEscaped } from './regular-expressions.ts';
import { ROOT, run } from './run.ts';

// `npm run test:one -- <file or name> [flags of vitest]`: runs the test files that the argument names, without checks.
const [wanted = '', ...flags] = process.argv.slice(2);
if (wanted === '' || wanted.startsWith('-')) {
  process.stderr.write(
    'usage: npm run test:one -- <file, part of its path, or part of a test name> [flags of vitest]\n',
  );
  process.exit(2);
}

const files = await testFiles();
const byPath = files.filter((file) => file.includes(pathInRepository(wanted)));
const byName = byPath.length > 0 ? [] : await filesThatSay(wanted);
// A test name that is composed at run time is in no file, so all files are searched then.
const chosen = [byPath, byName, files].find((some) => some.length > 0) ?? [];
const name = byPath.length > 0 ? [] : ['--testNamePattern', regexEscaped(wanted)];

let failed = 0;
for (const [workspace, own] of Map.groupBy(chosen, workspaceOf)) {
  const paths = own.map((file) => relative(workspace, file));
  const passes = ['--passWithNoTests', '--reporter=default'];
  const cwd = join(ROOT, workspace);
  failed += await run(join(cwd, 'node_modules/.bin/vitest'), ['run', ...passes, ...paths, ...name, ...flags], { cwd });
}
process.exitCode = failed === 0 ? 0 : 1;

/** An argument may be a path relative to the repository, or to the folder in which npm was called. */
function pathInRepository(text: string): string {
  const absolute = resolve(process.env['INIT_CWD'] ?? ROOT, text);
  return existsSync(absolute) ? relative(ROOT, absolute) : text;
}

async function testFiles(): Promise<string[]> {
  const found: string[] = [];
  const patterns = ['{apps,packages}/*/test/**/*.test.ts', '{bench,torture}/test/**/*.test.ts'];
  for await (const file of glob(patterns, { cwd: ROOT })) found.push(file);
  return found.toSorted();
}

async function filesThatSay(text: string): Promise<string[]> {
  const texts = await Promise.all(files.map((file) => readFile(join(ROOT, file), 'utf8')));
  return files.filter((_, index) => texts[index]?.includes(text));
}

function workspaceOf(file: string): string {
  return file.slice(0, file.indexOf('/test/'));
}
