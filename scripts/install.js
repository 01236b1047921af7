// Installs the packages that a command needs, unless they are there already: `node scripts/install.js <set>`.
// Plain JavaScript, because it runs on the Node that the machine has (20 or newer), before Node 24 is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** Each set contains the ones before it: the server, the programs that show it off, everything that tests and checks need. */
const SETS = ['server', 'examples', 'all'];

// The workspaces of a set, each with the workspaces that it depends on at run time.
/** @type {Record<string, string[]>} */
const WORKSPACES = {
  server: ['@quartermaster/api...'],
  examples: ['@quartermaster/api...', '@quartermaster/quickstart...', '@quartermaster/seed...'],
};

/** The packages of Node itself are optional dependencies: pnpm takes the one for this machine. */
const NODE_PACKAGE = `node-${process.platform}-${process.arch}`;
const NODE_MAJOR = 24;

/** What was installed last. It lies in node_modules, so that it goes when they go. */
const STATE_FILE = join(ROOT, 'node_modules/.quartermaster-install.json');

const wanted = process.argv[2] ?? '';
if (!SETS.includes(wanted)) fail(`usage: node scripts/install.js ${SETS.join('|')}`, 2);

const dependencies = hashOfDependencies();
const installed = readState();
const isEnough = SETS.indexOf(installed.set) >= SETS.indexOf(wanted);
if (!isEnough || installed.dependencies !== dependencies) {
  // A smaller set never removes what a larger one installed.
  const set = isEnough ? installed.set : wanted;
  requireWritable();
  install(set);
  requireNode();
  removeNodeHeaders();
  writeFileSync(STATE_FILE, JSON.stringify({ set, dependencies }));
}

/** @param {string} set */
function install(set) {
  const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const filters = ['quartermaster', ...(WORKSPACES[set] ?? [])].flatMap((name) => ['--filter-prod', name]);
  const selection = set === 'all' ? [] : ['--prod', ...filters];
  const args = ['-y', packageManager, 'install', '--frozen-lockfile', '--reporter=append-only', '--loglevel=error'];
  // pnpm opens 64 connections unless it is told otherwise. A registry or proxy that takes fewer then lets them wait: 71 s
  // for the server's packages instead of 17 s, measured.
  args.push('--network-concurrency=16');
  // Standard output belongs to the command that is run afterwards.
  const { status, error } = spawnSync('npx', [...args, ...selection], { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (error !== undefined) fail(`npx could not be run: ${error.message}`);
  if (status !== 0) fail('the packages could not be installed');
}

/** The package of Node brings 67 MB of headers for building native addons, which nothing here builds. */
function removeNodeHeaders() {
  rmSync(join(ROOT, 'node_modules', NODE_PACKAGE, 'include'), { recursive: true, force: true });
}

/** Node 24 comes as a package for Linux. Elsewhere the machine has to have it. */
function requireNode() {
  if (existsSync(join(ROOT, 'node_modules', NODE_PACKAGE))) return;
  if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR) return;
  fail(
    `Node ${NODE_MAJOR} or newer is needed; this is ${process.version}, and npm has no package of it for ${process.platform} ${process.arch}`,
  );
}

/** pnpm makes a node_modules in the root and in each workspace. Where it may not, it fails with a stack of its own. */
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

/** Changes when any file changes that decides what is installed. */
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

/** @returns {{ set: string, dependencies: string }} */
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
