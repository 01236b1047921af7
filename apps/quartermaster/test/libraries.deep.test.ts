import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { publint } from 'publint';
import { temporaryFolder } from '@quartermaster/db/testing/temporary-folder.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installInto, run } from './support/packed.ts';

const ROOT = join(import.meta.dirname, '../../..');

const BINARIES = join(ROOT, 'node_modules/.bin');
const ATTW = join(ROOT, 'apps/quartermaster/node_modules/.bin/attw');

/** The entries that programs import, which attw cannot guess from a pattern. */
const LIBRARIES = [
  {
    name: 'contracts',
    entries: ['providers', 'errors'],
    loads: `['providers'].CreateProviderInputSchema.parse({ name: 'a', kind: 'llm' }).kind`,
  },
  { name: 'naming', entries: ['vendors', 'model-name'], loads: `['vendors'].canonicalVendor('azure.ai.openai')` },
  { name: 'client', entries: ['.', 'client'], loads: `['.'].listProviders.name` },
] as const;

const EXPECTED = { contracts: 'llm', naming: 'azure.ai.openai', client: 'listProviders' };

let folder = '';
const tarballs = new Map<string, string>();

beforeAll(async () => {
  folder = await temporaryFolder('quartermaster-libraries-');
  await mkdir(join(folder, 'project'));
  for (const { name } of LIBRARIES) {
    const args = ['pack', '--json', '--pack-destination', folder];
    const stdout = await run(join(BINARIES, 'pnpm'), args, { cwd: join(ROOT, 'packages', name) });
    const { filename } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { filename: string };
    tarballs.set(name, join(folder, filename.slice(dirname(filename).length)));
  }
  await installInto(join(folder, 'project'), [...tarballs.values()]);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(LIBRARIES)('@quartermaster/$name', ({ name, entries, loads }) => {
  const specifiers = entries.map((entry) => join(`@quartermaster/${name}`, entry));
  const project = () => join(folder, 'project');

  test('passes publint and attw', async () => {
    const tarball = tarballs.get(name) ?? '';
    const { messages } = await publint({
      pack: { tarball: new Uint8Array(await readFile(tarball)).buffer },
      strict: true,
    });
    expect(messages).toEqual([]);
    await run(ATTW, [tarball, '--profile', 'esm-only', '--no-color', '--entrypoints', ...entries], { cwd: folder });
  });

  test.each(['mjs', 'cjs'])('loads in an empty project, as %s', async (type) => {
    const module = (specifier: string) => (type === 'mjs' ? `await import('${specifier}')` : `require('${specifier}')`);
    const members = entries.map((entry, index) => `'${entry}': ${module(specifiers[index] ?? '')}`);
    await writeFile(join(project(), `${name}.${type}`), `console.log(({ ${members.join(', ')} })${loads});\n`);
    const stdout = await run(process.execPath, [`${name}.${type}`], { cwd: project() });
    expect(stdout).toBe(`${EXPECTED[name]}\n`);
  });

  test('the example in its README compiles, with a check of all declarations', async () => {
    const readme = await readFile(join(ROOT, 'packages', name, 'README.md'), 'utf8');
    const [, example = ''] = /^```ts\n(.*?)^```/ms.exec(readme) ?? [];
    expect(example).not.toBe('');
    await writeFile(join(project(), `${name}.ts`), example);
    const settings = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2023', '--types', ''];
    const libraries = ['--lib', 'es2024,dom,dom.iterable'];
    for (const module of [
      ['--module', 'nodenext'],
      ['--module', 'esnext', '--moduleResolution', 'bundler'],
    ]) {
      await run(join(BINARIES, 'tsc'), [...settings, ...libraries, ...module, `${name}.ts`], { cwd: project() });
    }
  });
});
