import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { glob, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';

// Builds the console to `dist`, unless its sources are the same as at the last build:
// `node apps/console/build.ts [--install]`. With --install it first installs the packages that the build needs.

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(import.meta.dirname, 'dist');
const NEXT_FOLDER = join(import.meta.dirname, 'dist.next');
const LOCK_FILE = join(import.meta.dirname, 'dist.lock');

/** In the built folder: a hash of the sources that it was built from. */
const STAMP = 'stamp.txt';

const SOURCES = [
  'apps/console/{src,public}/**',
  'apps/console/{build,vite.config}.ts',
  'apps/console/{index.html,package.json}',
  'packages/client/src/**',
  'pnpm-lock.yaml',
];

/** Files that are smaller compressed. */
const TEXTS = ['.css', '.js', '.svg'];

const LOCK_POLL_MS = 200;

const stamp = await stampOfSources();
if (!(await isBuilt())) {
  process.stdout.write('building the console\n');
  await takeLock();
  try {
    // Another process may have built it while this one waited.
    if (!(await isBuilt())) await build();
  } finally {
    await rm(LOCK_FILE, { force: true });
  }
}

async function build(): Promise<void> {
  if (process.argv.includes('--install')) installPackages();
  await rm(NEXT_FOLDER, { recursive: true, force: true });
  // The suite that builds it says `test`, and React would be built for that.
  process.env['NODE_ENV'] = 'production';
  const vite = await import('vite');
  await vite.build({ root: import.meta.dirname, logLevel: 'warn', build: { outDir: NEXT_FOLDER } });
  await compressFiles();
  await writeFile(join(NEXT_FOLDER, STAMP), stamp);
  await rm(FOLDER, { recursive: true, force: true });
  await rename(NEXT_FOLDER, FOLDER);
}

function installPackages(): void {
  const { status } = spawnSync(process.execPath, [join(ROOT, 'scripts/install.js'), 'console'], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the packages that build the console could not be installed');
}

/** Done once here, so that the server never compresses, and with the highest quality. */
async function compressFiles(): Promise<void> {
  for await (const path of glob('**/*', { cwd: NEXT_FOLDER })) {
    if (!TEXTS.includes(extname(path))) continue;
    const file = join(NEXT_FOLDER, path);
    const content = await readFile(file);
    await writeFile(
      `${file}.br`,
      await promisify(brotliCompress)(content, { params: { [zlib.BROTLI_PARAM_QUALITY]: 11 } }),
    );
    await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
  }
}

async function stampOfSources(): Promise<string> {
  const paths: string[] = [];
  for await (const entry of glob(SOURCES, { cwd: ROOT, withFileTypes: true })) {
    if (entry.isFile()) paths.push(join(entry.parentPath, entry.name));
  }
  const hash = createHash('sha256');
  for (const path of paths.toSorted()) hash.update(path.slice(ROOT.length)).update(await readFile(path));
  return hash.digest('hex');
}

async function isBuilt(): Promise<boolean> {
  return (await readFile(join(FOLDER, STAMP), 'utf8').catch(() => '')) === stamp;
}

/** Waits until no other process builds. */
async function takeLock(): Promise<void> {
  for (;;) {
    try {
      await writeFile(LOCK_FILE, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    // A process that was killed leaves its lock behind.
    if (await isLockHeld()) await sleep(LOCK_POLL_MS);
    else await rm(LOCK_FILE, { force: true });
  }
}

async function isLockHeld(): Promise<boolean> {
  try {
    process.kill(Number(await readFile(LOCK_FILE, 'utf8')), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
