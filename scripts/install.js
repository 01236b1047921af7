// Installs the packages that a command needs, unless they are there already: `node scripts/install.js <set>`.
// Plain JavaScript, because it runs on the Node that the machine has (20 or newer), before Node 24 is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** Each set includes the ones before it: the server, the example programs, everything that tests and checks need. */
const SETS = ['server', 'examples', 'all'];

/** The packages that build the web console. They are installed in the background, so that no command waits for them. */
const CONSOLE = 'console';

// The workspaces of a set, each with the workspaces that it depends on at run time.
/** @type {Record<string, string[]>} */
const WORKSPACES = {
  server: ['@quartermaster/api...'],
  examples: ['@quartermaster/api...', '@quartermaster/quickstart...', '@quartermaster/seed...'],
  console: ['@quartermaster/console...'],
};

/** Node itself is an optional dependency, with one package for each platform. pnpm installs the one for this machine. */
const NODE_PACKAGE = `node-${process.platform}-${process.arch}`;
const NODE_MAJOR = 24;

/** What was installed last. It is in node_modules, so that it is deleted together with the packages. */
const STATE_FILE = join(ROOT, 'node_modules/.quartermaster-install.json');

/** Contains the id of the process that is installing, because concurrent installations in one folder would break each other. */
const LOCK_FILE = join(ROOT, 'node_modules/.quartermaster-install.lock');
const LOCK_POLL_MS = 200;

const wanted = process.argv[2] ?? '';
if (![...SETS, CONSOLE].includes(wanted)) fail(`usage: node scripts/install.js ${[...SETS, CONSOLE].join('|')}`, 2);

const dependencies = hashOfDependencies();
if (setToInstall() !== null) {
  requireWritable();
  takeLock();
  try {
    // Another process may have installed it while this one waited.
    const set = setToInstall();
    if (set !== null) installSet(set);
  } finally {
    rmSync(LOCK_FILE, { force: true });
  }
}

/** @returns the set to install, perhaps with the console's packages; null if everything is installed */
function setToInstall() {
  const installed = readState();
  if (wanted === CONSOLE) {
    const isThere = installed.set === 'all' || installed.console === dependencies;
    return isThere && installed.dependencies === dependencies ? null : installed.set || 'server';
  }
  const isEnough = SETS.indexOf(installed.set) >= SETS.indexOf(wanted);
  if (isEnough && installed.dependencies === dependencies) return null;
  // A smaller set never removes what a larger one installed.
  return isEnough ? installed.set : wanted;
}

/** @param {string} set */
function installSet(set) {
  const workspaces = [...(WORKSPACES[set] ?? []), ...(wanted === CONSOLE ? (WORKSPACES[CONSOLE] ?? []) : [])];
  install(set, workspaces);
  requireNode();
  removeUnreadFiles();
  const { console } = readState();
  const state = { set, dependencies, console: wanted === CONSOLE ? dependencies : console };
  writeFileSync(STATE_FILE, JSON.stringify(state));
}

/**
 * @param {string} set
 * @param {string[]} workspaces
 */
function install(set, workspaces) {
  const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const filters = ['quartermaster-workspace', ...workspaces].flatMap((name) => ['--filter-prod', name]);
  const selection = set === 'all' ? [] : ['--prod', ...filters];
  const args = ['-y', packageManager, 'install', '--frozen-lockfile', '--reporter=append-only', '--loglevel=error'];
  // By default pnpm opens 64 connections. With a registry or proxy that accepts fewer, they wait: the server's packages took
  // 71 s instead of 17 s, measured.
  args.push('--network-concurrency=16');
  // Standard output is reserved for the command that runs afterwards.
  const { status, error } = spawnSync('npx', [...args, ...selection], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (error !== undefined) fail(`npx could not be run: ${error.message}`);
  if (status !== 0) fail('the packages could not be installed');
}

/** Waits until no other process installs. */
function takeLock() {
  mkdirSync(join(ROOT, 'node_modules'), { recursive: true });
  for (;;) {
    try {
      writeFileSync(LOCK_FILE, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    }
    // A process that was killed leaves its lock behind.
    if (!isRunning(LOCK_FILE)) rmSync(LOCK_FILE, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS);
  }
}

/**
 * Whether the process whose id is in a file is running.
 * @param {string} file
 */
function isRunning(file) {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** Removes 120 MB of files that nothing here reads. They are for building native addons, for other platforms, and for debuggers. */
function removeUnreadFiles() {
  const headers = join(ROOT, 'node_modules', NODE_PACKAGE, 'include');
  const sqlite = join(ROOT, 'packages/db/node_modules/better-sqlite3');
  // Each binary is named after its platform: linux and linuxmusl, x64 and arm64.
  const isForThisPlatform = (/** @type {string} */ file) =>
    file.startsWith(process.platform) && file.endsWith(`-${process.arch}.node`);
  const binaries = existsSync(sqlite) ? readdirSync(join(sqlite, 'prebuilds')) : [];
  const otherBinaries = binaries.filter((file) => !isForThisPlatform(file));
  const sourceMaps = filesBelow(join(ROOT, 'node_modules/.pnpm')).filter((file) => file.endsWith('.map'));
  const unread = [headers, join(sqlite, 'deps'), ...otherBinaries.map((file) => join(sqlite, 'prebuilds', file))];
  for (const path of [...unread, ...sourceMaps]) rmSync(path, { recursive: true, force: true });
}

/**
 * All files below a folder. It does not follow links, which form cycles in pnpm's folder.
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

/** Node 24 is installed as a package on Linux. On other systems it must be installed already. */
function requireNode() {
  if (existsSync(join(ROOT, 'node_modules', NODE_PACKAGE))) return;
  if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR) return;
  fail(
    `Node ${NODE_MAJOR} or newer is needed; this is ${process.version}, and npm has no package of it for ${process.platform} ${process.arch}`,
  );
}

/** pnpm creates node_modules in the root and in each workspace. Without write access it would fail with a stack trace. */
function requireWritable() {
  for (const folder of ['.', ...workspaceFolders()]) {
    const modules = join(ROOT, folder, 'node_modules');
    const written = existsSync(modules) ? modules : join(ROOT, folder);
    if (!existsSync(written)) continue;
    try {
      accessSync(written, constants.W_OK);
    } catch {
      fail(`the packages cannot be installed: ${written} is read-only for this user`);
    }
  }
}

/** A hash of all files that determine what is installed. */
function hashOfDependencies() {
  const manifests = ['.', ...workspaceFolders()].map((folder) => join(folder, 'package.json'));
  const hash = createHash('sha256');
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests]) {
    if (existsSync(join(ROOT, file))) hash.update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex');
}

function workspaceFolders() {
  const nested = ['apps', 'packages'].flatMap((parent) =>
    readdirSync(join(ROOT, parent)).map((name) => join(parent, name)),
  );
  return ['bench', 'torture', ...nested];
}

/** @returns {{ set: string, dependencies: string, console?: string }} */
function readState() {
  try {
    return JSON.parse(readFileSync(STATE_FILE, 'utf8'));
  } catch {
    return { set: '', dependencies: '' };
  }
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message, code = 1) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}
