import { execFile } from 'node:child_process';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const WORKSPACE = join(import.meta.dirname, '../..');

/** The folder that is published. */
export const DIST = join(WORKSPACE, 'dist');

const execute = promisify(execFile);

/** Runs a program, with `node` being a given one. @returns its standard output */
export async function run(
  program: string,
  args: readonly string[],
  { cwd, node = process.execPath, env = {} }: { cwd: string; node?: string; env?: Record<string, string> },
): Promise<string> {
  const options = { cwd, env: environmentOf(node, env), maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await execute(program, [...args], options);
  return stdout;
}

/** An environment without the settings of the tests, in which `node` is a given one. */
export function environmentOf(node: string, more: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH: [dirname(node), PATH].join(delimiter), HOME, ...more };
}

/** Builds and packs the package. @returns the path of the tarball in a folder */
export async function packQuartermaster(folder: string): Promise<string> {
  await run(process.execPath, [join(WORKSPACE, 'build.ts')], { cwd: WORKSPACE });
  return pack(DIST, folder);
}

async function pack(from: string, folder: string): Promise<string> {
  const stdout = await run('npm', ['pack', from, '--json', '--pack-destination', folder], { cwd: folder });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return join(folder, filename);
}

/** Makes a folder an empty npm project, and installs packages into it, from the cache of npm where it has them. */
export async function installInto(folder: string, packages: readonly string[], node?: string): Promise<void> {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module' }));
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--engine-strict', ...packages];
  await run('npm', args, { cwd: folder, ...(node !== undefined && { node }) });
}

/** The bytes of all files of a folder. */
export async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
