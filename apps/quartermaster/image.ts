import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '@quartermaster/api/src/config.ts';

// Builds the container image with buildah, without a daemon: `npm run image`. It is built from scratch, of Debian packages whose
// signatures apt checks, Node from npm, and the npm package. Nothing is pulled from a registry of images.

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(import.meta.dirname, 'dist');

const SUITE = 'trixie';
const MIRRORS = [
  `deb http://deb.debian.org/debian ${SUITE} main`,
  `deb http://deb.debian.org/debian-security ${SUITE}-security main`,
];

/** What Node needs of Debian. There is no shell and no package manager. */
const DEBIAN_PACKAGES = ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6', 'netbase'];

/** Files of these packages that nothing reads: documentation, character sets of the C library, an interpreter of awk. */
const UNREAD = ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/lintian', 'usr/bin/mawk'];

/** The user of the service. A number, so that Kubernetes can check that it is not root. */
const USER = '10001:10001';

const PLATFORM = `${process.platform}-${process.arch}`;
const MODULES = 'opt/quartermaster/node_modules';

/** The command in the image. The file has no ending, and there is no `env` to find Node. */
const COMMAND = `#!/usr/local/bin/node\nimport('/${MODULES}/quartermaster/lib/quartermaster.js');\n`;

/** Makes the volume, and the folder of Node's compile cache, which the service fills while the image is built. */
const PREPARE = `
  const fs = require('node:fs');
  fs.mkdirSync('/${MODULES}/.cache');
  for (const folder of ['/data', '/${MODULES}/.cache/quartermaster']) {
    fs.mkdirSync(folder, { mode: 0o700 });
    fs.chownSync(folder, ...'${USER}'.split(':').map(Number));
  }
`;

/** Lets the service read the compile cache, and not change it. */
const PROTECT = `
  const fs = require('node:fs');
  const cache = '/${MODULES}/.cache';
  fs.chmodSync(cache, 0o755);
  for (const entry of ['.', ...fs.readdirSync(cache, { recursive: true })]) {
    const path = cache + '/' + entry;
    fs.chownSync(path, 0, 0);
    fs.chmodSync(path, fs.statSync(path).isDirectory() ? 0o755 : 0o644);
  }
`;

/** Starts and stops the server once in the image, which fills Node's compile cache: later starts take half the time. */
const WARM_UP = `
  const child = require('node:child_process').spawn('/usr/local/bin/quartermaster', ['serve'], {
    env: { QM_DATA_DIR: '/tmp/warm-up', QM_OIDC_ISSUER: 'none', PORT: '0', QM_OTLP_GRPC_PORT: 'off', QM_METRICS_PORT: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.on('data', (text) => String(text).includes('listens on') && child.kill('SIGTERM'));
  child.on('exit', (code) => {
    require('node:fs').rmSync('/tmp/warm-up', { recursive: true });
    process.exitCode = code;
  });
`;

requirePrograms();
const work = mkdtempSync(join(tmpdir(), 'quartermaster-image-'));
try {
  const root = join(work, 'root');
  installDebian(root);
  run(process.execPath, join(import.meta.dirname, 'build.ts'));
  installService(root);
  writeUsers(root);
  writeBillOfMaterials(root);
  commit(root);
} finally {
  rmSync(work, { recursive: true, force: true });
}

function requirePrograms(): void {
  const missing = ['buildah', 'mmdebstrap'].filter((name) => !isInstalled(name));
  if (missing.length > 0) {
    process.stderr.write(`the image needs ${missing.join(' and ')}: apt-get install buildah mmdebstrap\n`);
    process.exit(2);
  }
}

function installDebian(root: string): void {
  const hook = `ls "$1"/var/cache/apt/archives > ${join(work, 'debs')}`;
  const include = `--include=${DEBIAN_PACKAGES.join(',')}`;
  run('mmdebstrap', '--quiet', '--variant=extract', include, `--extract-hook=${hook}`, SUITE, root, ...MIRRORS);
  for (const path of UNREAD) rmSync(join(root, path), { recursive: true, force: true });
  rmSync(join(root, 'usr/lib', `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/gconv`), {
    recursive: true,
    force: true,
  });
}

/** The same layout as npm makes it, of packages that the lock file names. */
function installService(root: string): void {
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  cpSync(realpathSync(join(ROOT, `node_modules/node-${PLATFORM}/bin/node`)), join(root, 'usr/local/bin/node'));
  cpSync(DIST, join(root, MODULES, 'quartermaster'), { recursive: true });
  const sqlite = realpathSync(join(ROOT, 'packages/db/node_modules/better-sqlite3'));
  for (const path of ['package.json', 'LICENSE', 'lib', `prebuilds/${PLATFORM}.node`]) {
    cpSync(join(sqlite, path), join(root, MODULES, 'better-sqlite3', path), { recursive: true });
  }
  writeFileSync(join(root, 'usr/local/bin/quartermaster'), COMMAND);
  chmodSync(join(root, 'usr/local/bin/quartermaster'), 0o755);
}

function writeUsers(root: string): void {
  const [uid, gid] = USER.split(':');
  const noLogin = 'quartermaster:/nonexistent:/usr/sbin/nologin';
  writeFileSync(
    join(root, 'etc/passwd'),
    `root:x:0:0:root:/root:/usr/sbin/nologin\nquartermaster:x:${uid}:${gid}:${noLogin}\n`,
  );
  writeFileSync(join(root, 'etc/group'), `root:x:0:\nquartermaster:x:${gid}:\n`);
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n');
}

type Bill = { components: object[]; dependencies: { ref: string; dependsOn: string[] }[] };

/** The bill of materials of the package, with Node and the packages of Debian. */
function writeBillOfMaterials(root: string): void {
  const bill = JSON.parse(readFileSync(join(DIST, 'sbom.cdx.json'), 'utf8')) as Bill;
  const debs = readFileSync(join(work, 'debs'), 'utf8')
    .split('\n')
    .filter((name) => name.endsWith('.deb'));
  const packages = debs.map((file) => {
    const [name = '', version = '', arch = ''] = file.slice(0, -'.deb'.length).split('_');
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${version}?arch=${arch}&distro=${SUITE}`;
    return { type: 'library', name, version: decodeURIComponent(version), 'bom-ref': purl, purl };
  });
  const node = process.versions.node;
  const purl = `pkg:generic/node@${node}`;
  const all = [...packages, { type: 'platform', name: 'node', version: node, 'bom-ref': purl, purl }];
  const folder = join(root, 'usr/share/sbom');
  mkdirSync(folder, { recursive: true });
  const dependencies = bill.dependencies.map(({ ref, dependsOn }) => ({
    ref,
    dependsOn: [...dependsOn, ...all.map((component) => component['bom-ref'])],
  }));
  const ofImage = { ...bill, components: [...bill.components, ...all], dependencies };
  writeFileSync(join(folder, 'quartermaster.cdx.json'), `${JSON.stringify(ofImage, null, 1)}\n`);
}

function commit(root: string): void {
  const container = buildah('from', '--format', 'docker', '--name', `quartermaster-${process.pid}`, 'scratch');
  try {
    buildah('copy', '--quiet', container, root, '/');
    const runScript = (user: string, script: string) =>
      buildah('run', '--user', user, container, '--', '/usr/local/bin/node', '--eval', script);
    runScript('0:0', PREPARE);
    runScript(USER, WARM_UP);
    runScript('0:0', PROTECT);
    buildah('config', ...settings(), container);
    const time = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }).trim();
    const name = `quartermaster:${VERSION}`;
    // The format of Docker, because the one of OCI has no health check.
    buildah('commit', '--quiet', '--format', 'docker', '--timestamp', time, container, name);
    buildah('tag', name, 'quartermaster:latest');
    process.stdout.write(`${name}\n`);
  } finally {
    buildah('rm', container);
  }
}

/** The configuration of the image, as options of `buildah config`. */
function settings(): string[] {
  const labels = {
    title: 'Quartermaster',
    description: 'Shows what AI agents really use, compares it with what is declared, and lets people decide.',
    version: VERSION,
    revision: execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim(),
    licenses: 'Apache-2.0',
    source: 'https://github.com/quartermaster/quartermaster',
  };
  // SQLite sorts large lists in temporary files. Without a folder that it may write to, such statements fail.
  const env = {
    HOST: '0.0.0.0',
    PORT: '8080',
    QM_DATA_DIR: '/data',
    SQLITE_TMPDIR: '/data',
    NODE_ENV: 'production',
  };
  const options = [
    ...Object.entries(labels).map(([name, value]) => ['--label', `org.opencontainers.image.${name}=${value}`]),
    ...Object.entries(env).map(([name, value]) => ['--env', `${name}=${value}`]),
    ['--user', USER],
    ['--workingdir', '/data'],
    ['--volume', '/data'],
    ['--port', '8080'],
    ['--port', '4317'],
    ['--entrypoint', '["quartermaster"]'],
    ['--cmd', 'serve'],
    ['--stop-signal', 'SIGTERM'],
    ['--healthcheck', 'CMD quartermaster healthcheck'],
    ['--healthcheck-interval', '30s'],
    ['--healthcheck-timeout', '5s'],
    ['--healthcheck-start-period', '30s'],
  ];
  return options.flat();
}

/** @returns the standard output */
function buildah(...args: string[]): string {
  // Neither needs a daemon, privileges of the kernel or a file system of its own. The variables are those that buildah reads.
  const env = { BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'vfs', ...process.env };
  return execFileSync('buildah', args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
