import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Project } from './packed.ts';

const runFile = promisify(execFile);

/** Where the other runtimes are installed, once: they take 350 MB, and only this test needs them. */
const FOLDER = join(import.meta.dirname, '../../../node_modules/.cache/quartermaster-runtimes');
const VERSIONS = { bun: '1.4.5', deno: '2.9.6', workerd: '1.20261117.1' };

/** After this time npm cannot reach the registry, which it tries for minutes. In milliseconds. */
const INSTALL_MS = 90_000;

export type Runtime = 'node' | keyof typeof VERSIONS;

/** @returns the program, or null if the registry does not have it for this machine */
async function findProgram(runtime: keyof typeof VERSIONS): Promise<string | null> {
  const folder = join(FOLDER, `${runtime}-${VERSIONS[runtime]}`);
  const program = join(folder, 'node_modules/.bin', runtime);
  if (existsSync(program)) return program;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  const install = ['install', '--no-audit', '--no-fund', `${runtime}@${VERSIONS[runtime]}`];
  const installed = await runFile('npm', install, { cwd: folder, timeout: INSTALL_MS }).catch(() => null);
  return installed === null ? null : program;
}

/**
 * Runs `program.js` of the project, which exports `check(input)`, in a runtime.
 *
 * @returns what `check` returned; null if the runtime cannot be installed here
 */
export async function runIn(runtime: Runtime, project: Project, input: object): Promise<unknown> {
  const text = JSON.stringify(input);
  const program = runtime === 'node' ? process.execPath : await findProgram(runtime);
  if (program === null) return null;
  if (runtime === 'workerd') return runInWorkerd(program, project, text);
  await project.write('run.js', RUN);
  const flags = { node: [], bun: ['run'], deno: ['run', '--node-modules-dir=manual', '--allow-net=127.0.0.1'] };
  return JSON.parse(await project.run(program, [...flags[runtime], 'run.js', text]));
}

const RUN = `
import { check } from './program.js';
console.log(JSON.stringify(await check(JSON.parse(process.argv[2]))));
`;

/** As a Cloudflare Worker without the compatibility with Node. */
async function runInWorkerd(program: string, project: Project, input: string): Promise<unknown> {
  await project.write('worker.js', WORKER);
  await project.write('config.capnp', configOf(input));
  const output = await project.run(program, ['test', 'config.capnp']);
  const [, result = ''] = /RESULT(.*)/.exec(output) ?? [];
  return JSON.parse(result);
}

const WORKER = `
import { check } from './program.js';
export default {
  async test(controller, env) {
    console.log('RESULT' + JSON.stringify(await check(JSON.parse(env.INPUT))));
  },
};
`;

function configOf(input: string): string {
  return `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "network", network = (allow = ["private"])),
  ],
);
const worker :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "program.js", esModule = embed "program.js"),
    (name = "@quartermaster/gateway", esModule = embed "node_modules/@quartermaster/gateway/dist/index.js"),
  ],
  bindings = [(name = "INPUT", text = ${JSON.stringify(input)})],
  globalOutbound = "network",
  compatibilityDate = "2026-01-01",
);
`;
}
