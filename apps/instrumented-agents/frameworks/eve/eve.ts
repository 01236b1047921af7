/** eve: an agent with a tool of its own that fails and a tool of an MCP server, and a failure. Built and served in the scratch folder. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent } from '../../recorder/program.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const app = join(process.env['HOME'] ?? '', 'app');
mkdirSync(app);
cpSync(here('agent'), join(app, 'agent'), { recursive: true });
symlinkSync(here('node_modules'), join(app, 'node_modules'));
writeFileSync(
  join(app, 'package.json'),
  JSON.stringify({ name: 'weather_agent', private: true, type: 'module', dependencies: { eve: '*' } }),
);

function eve(...args: string[]) {
  return spawn(process.execPath, [here('node_modules/eve/bin/eve.js'), ...args], {
    cwd: app,
    env: { ...process.env, NODE_ENV: 'development', EVE_TELEMETRY_DISABLED: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 90_000,
  });
}

const build = eve('build');
build.stdout.resume();
const [code] = (await once(build, 'exit')) as [number | null];
if (code !== 0) throw new Error(`eve build ended with ${code}.`);

const server = eve('start', '--port', '0');
let url: string | undefined;
for await (const line of createInterface({ input: server.stdout })) {
  url = /server listening at (http:\/\/\S+?)\/?$/.exec(line)?.[1];
  if (url !== undefined) break;
}
server.stdout.resume();
countAgent('weather_agent');
for (const message of [MARKERS.question, MARKERS.fail]) {
  const started = await fetch(`${url}/eve/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  });
  if (!started.ok) throw new Error(await started.text());
  // A session has no end, and spans are sent every 5 seconds.
  await setTimeout(12_000);
}
server.kill();
await once(server, 'exit');
