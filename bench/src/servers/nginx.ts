import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '@quartermaster/api/src/config.ts';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { ended, spawnOn } from '../machine.ts';

/** Debian installs daemons where only root's search path leads. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`;

export function isNginxInstalled(): boolean {
  return spawnSync('nginx', ['-v'], { env: { PATH } }).status === 0;
}

export type Nginx = {
  pid: number;
  /** Asks Quartermaster about each request, as docs/enforcement/nginx.conf says. */
  port: number;
  /** Passes each request on without a decision. */
  plainPort: number;
  stop: () => Promise<void>;
};

/** Starts nginx with the configuration of the documentation, in front of an MCP server. */
export async function startNginx(
  core: number | null,
  at: { folder: string; quartermasterPort: number; mcpServerPort: number; gatewayId: string; provider: string },
): Promise<Nginx> {
  const folder = join(at.folder, 'nginx');
  mkdirSync(folder, { recursive: true });
  const [port, plainPort] = [await freePort(), await freePort()];
  const documented = readFileSync(join(ROOT, 'docs/enforcement/nginx.conf'), 'utf8')
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${at.quartermasterPort}`)
    .replaceAll('127.0.0.1:8081', `127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:9000', `127.0.0.1:${at.mcpServerPort}`)
    .replaceAll('gw_01m8j1aabg7925knrytvh6hma1', at.gatewayId)
    .replaceAll('authorize/github/mcp', `authorize/${at.provider}/mcp`);
  writeFileSync(join(folder, 'documented.conf'), documented);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const plain = `server {
    listen 127.0.0.1:${plainPort};
    location = /mcp {
      proxy_pass http://mcp_server/mcp; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }
  }`;
  // One connection sends all requests of a round.
  const http = `access_log off; keepalive_requests 1000000000; ${temporary.join(' ')}
  include ${folder}/documented.conf;
  ${plain}`;
  const main = `pid ${folder}/pid; error_log ${folder}/error.log; daemon off; master_process off; events {} http { ${http} }`;
  writeFileSync(join(folder, 'main.conf'), main);
  const child = spawnOn(core, ['nginx', '-e', `${folder}/error.log`, '-c', `${folder}/main.conf`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { PATH },
  });
  for (const one of [port, plainPort]) {
    while (!(await listensOn(one))) {
      if (child.exitCode !== null) throw new Error(`nginx ended at its start; its log is ${folder}/error.log`);
      await sleep(10);
    }
  }
  return {
    pid: child.pid ?? 0,
    port,
    plainPort,
    stop: async () => {
      child.kill('SIGTERM');
      await ended(child);
    },
  };
}

function listensOn(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
