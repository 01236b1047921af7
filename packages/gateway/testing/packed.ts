import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';

const runFile = promisify(execFile);

const PACKAGES = join(import.meta.dirname, '../..');
const BINARIES = join(PACKAGES, '../node_modules/.bin');
const ATTW = join(PACKAGES, 'gateway/node_modules/.bin/attw');

/** A folder outside of the repository, with packages as they would be published, and other packages as links. */
export type Project = {
  folder: string;
  tarballs: Record<string, string>;
  write(file: string, text: string): Promise<void>;
  /** Runs a program in the folder. @returns what it printed */
  run(program: string, args: readonly string[]): Promise<string>;
  remove(): Promise<void>;
};

/**
 * Builds and packs packages of ours, and unpacks them in an empty project.
 *
 * @param names folders in `packages`
 * @param links packages of the registry that the last of `names` has installed
 */
export async function packedProject(names: readonly string[], links: readonly string[] = []): Promise<Project> {
  // Without links in the path, because Node resolves packages from the real path of a file.
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'qm-packed-')));
  const run = async (program: string, args: readonly string[], cwd = folder) => {
    const environment = { ...process.env, PATH: pathWithBinaries() };
    try {
      return (await runFile(program, args, { cwd, env: environment })).stdout;
    } catch (error) {
      // Compilers write what is wrong to standard output, which the message does not have.
      throw new Error(`${program} failed: ${(error as { stdout?: string }).stdout}`, { cause: error });
    }
  };
  const tarballs: Record<string, string> = {};
  for (const name of names) {
    const output = await run('pnpm', ['pack', '--json', '--pack-destination', folder], join(PACKAGES, name));
    const { filename } = JSON.parse(output.slice(output.indexOf('{'))) as { filename: string };
    tarballs[name] = filename;
    const target = join(folder, 'node_modules/@quartermaster', name);
    await mkdir(target, { recursive: true });
    await run('tar', ['-xzf', filename, '-C', target, '--strip-components=1']);
  }
  for (const link of links) {
    const target = join(folder, 'node_modules', link);
    await mkdir(dirname(target), { recursive: true });
    await symlink(await realpath(join(PACKAGES, names.at(-1) ?? '', 'node_modules', link)), target);
  }
  const write = (file: string, text: string) => writeFile(join(folder, file), text);
  await write('package.json', JSON.stringify({ private: true, type: 'module' }));
  return { folder, tarballs, write, run, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Fails with what publint or attw (Are The Types Wrong?) say about a package that would not work for everybody. */
export async function checkPackage({ run, tarballs }: Project, name: string): Promise<void> {
  const tarball = tarballs[name] ?? '';
  const { messages } = await publint({
    pack: { tarball: new Uint8Array(await readFile(tarball)).buffer },
    strict: true,
  });
  if (messages.length > 0) throw new Error(JSON.stringify(messages));
  // The packages are ES modules. `require` of them works in Node 20.19 and later.
  await run(ATTW, [tarball, '--profile', 'esm-only', '--no-color']);
}

/**
 * Compiles the examples in a README with strict settings.
 *
 * @param settings by default without the types of Node, and checking all declarations of packages
 */
export async function compileReadme(project: Project, name: string, settings = ['--types', '']): Promise<void> {
  const text = await readFile(join(PACKAGES, name, 'README.md'), 'utf8');
  const examples = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, example = '']) => example);
  if (examples.length === 0) throw new Error(`the README of ${name} has no example`);
  const files = examples.map((_, index) => `example-${index + 1}.ts`);
  await Promise.all(files.map((file, index) => project.write(file, examples[index] ?? '')));
  const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2024'];
  await project.run('tsc', [...flags, '--lib', 'es2024,dom,dom.iterable', ...settings, ...files]);
}

function pathWithBinaries(): string {
  return `${dirname(process.execPath)}:${BINARIES}:${process.env['PATH']}`;
}
