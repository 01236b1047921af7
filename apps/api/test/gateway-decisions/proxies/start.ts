import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { temporaryFolder } from '@quartermaster/db/testing/temporary-folder.ts';
import { onTestFinished } from 'vitest';
import { ROOT } from '../../../src/config.ts';

/** Where a proxy finds the others: the service and the MCP server as host and port. */
export type Surroundings = { quartermaster: string; mcpServer: string; gatewayId: string; providerName: string };

type Proxy = {
  name: string;
  /** The Debian package. */
  debian: string;
  program: string;
  versionArgument: string;
  /** The files of docs/enforcement that the proxy reads. */
  files: readonly string[];
  /** What the documentation leaves to the installation: where files are and that the program stays in the foreground. */
  main: (folder: string) => { file: string; text: string } | null;
  command: (folder: string) => string[];
};

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    debian: 'nginx-light',
    program: 'nginx',
    versionArgument: '-v',
    files: ['nginx.conf'],
    main: (folder) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      const http = `access_log off; ${temporary.join(' ')} include ${folder}/nginx.conf;`;
      const text = `pid ${folder}/pid; error_log ${folder}/error.log; daemon off; master_process off; events {} http { ${http} }`;
      return { file: 'main.conf', text };
    },
    command: (folder) => ['-e', `${folder}/error.log`, '-c', `${folder}/main.conf`],
  },
  {
    name: 'Caddy',
    debian: 'caddy',
    program: 'caddy',
    versionArgument: 'version',
    files: ['Caddyfile'],
    main: (folder) => ({ file: 'main', text: `{\n\tadmin off\n}\nimport ${folder}/Caddyfile\n` }),
    command: (folder) => ['run', '--adapter', 'caddyfile', '--config', `${folder}/main`],
  },
  {
    name: 'HAProxy',
    debian: 'haproxy',
    program: 'haproxy',
    versionArgument: '-v',
    files: ['haproxy.cfg', 'auth.lua'],
    main: () => null,
    command: (folder) => ['-db', '-f', `${folder}/haproxy.cfg`],
  },
];

/** The proxies that the documentation has an example for. `start` is null if the program is not installed. */
export const INSTALLED_PROXIES = PROXIES.map((proxy) => {
  const isHere = isInstalled(proxy);
  const title = isHere ? proxy.name : `${proxy.name} (not installed: apt-get install ${proxy.debian})`;
  return { name: proxy.name, title, start: isHere ? (at: Surroundings) => startProxy(proxy, at) : null };
});

function isInstalled({ program, versionArgument }: Proxy): boolean {
  return spawnSync(program, [versionArgument], searchPath()).status === 0;
}

/**
 * Starts a proxy with the file of the documentation, in which only addresses, the id of the gateway and the name of the provider are
 * replaced. It stops at the end of the test.
 *
 * @returns its MCP endpoint
 */
async function startProxy(proxy: Proxy, at: Surroundings): Promise<string> {
  const folder = await temporaryFolder('quartermaster-proxy-');
  const address = `127.0.0.1:${await freePort()}`;
  const replaced = new Map([
    ['127.0.0.1:8080', at.quartermaster],
    ['127.0.0.1:8081', address],
    ['127.0.0.1:9000', at.mcpServer],
    ['gw_01m8j1aabg7925knrytvh6hma1', at.gatewayId],
    ['authorize/github/mcp', `authorize/${at.providerName}/mcp`],
    ['/etc/haproxy/auth.lua', `${folder}/auth.lua`],
  ]);
  for (const file of proxy.files) {
    let text = await readFile(join(ROOT, 'docs/enforcement', file), 'utf8');
    for (const [from, to] of replaced) text = text.replaceAll(from, to);
    await writeFile(join(folder, file), text);
  }
  await startIn(folder, proxy, address);
  return `http://${address}/mcp`;
}

/**
 * Starts nginx, or returns null if it is not installed. It stops at the end of the test.
 *
 * @param configure the text of its `http` block, for the address at which it listens
 */
export async function startNginx(configure: (address: string) => string): Promise<string | null> {
  const proxy = PROXIES.find(({ name }) => name === 'nginx');
  if (proxy === undefined || !isInstalled(proxy)) return null;
  const folder = await temporaryFolder('quartermaster-proxy-');
  const address = `127.0.0.1:${await freePort()}`;
  await writeFile(join(folder, 'nginx.conf'), configure(address));
  await startIn(folder, proxy, address);
  return `http://${address}`;
}

/** Starts a proxy with the files in a folder. */
async function startIn(folder: string, proxy: Proxy, address: string): Promise<void> {
  const main = proxy.main(folder);
  if (main !== null) await writeFile(join(folder, main.file), main.text);
  const child = spawn(proxy.program, proxy.command(folder), {
    ...searchPath({ HOME: folder }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => stop(child));
  await listening(child, address);
}

/** Debian installs daemons where only root's search path leads. */
function searchPath(environment: Record<string, string> = {}) {
  return { env: { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`, ...environment } };
}

async function listening(child: ChildProcess, address: string): Promise<void> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the proxy did not start: ${output}`);
    // Any answer will do, also 404.
    const answered = await fetch(`http://${address}/`).then(
      () => true,
      () => false,
    );
    if (answered) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  if (child.exitCode === null) child.kill('SIGKILL');
  else return;
  await ended;
}
