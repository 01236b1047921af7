import { existsSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordingDefinition } from '../apps/instrumented-agents/recorder/definition.ts';
import { record } from '../apps/instrumented-agents/recorder/record.ts';
import { ROOT, run } from './run.ts';

// `npm run test:agents [-- <name> ...]`: installs real agent frameworks, runs each against scripted servers, records the
// telemetry that they export, and runs the tests that replay the recordings. `--record-only` skips the tests. A name is that of a
// recording or of a package folder. `enforcement` runs coding agents with the hooks and MCP servers of docs/enforcement.
const AGENTS = join(ROOT, 'apps/instrumented-agents');
const RECORDINGS = join(ROOT, 'apps/api/test/telemetry/recordings');
const ENFORCEMENT = 'enforcement';

const wanted = process.argv.slice(2).filter((argument) => argument !== '--record-only');
const replays = !process.argv.includes('--record-only');
const failures: string[] = [];
let made = 0;

await mkdir(RECORDINGS, { recursive: true });
for (const folder of packageFolders()) {
  const module = (await import(join(folder, 'recordings.ts'))) as { recordings: RecordingDefinition[] };
  const isWanted = ({ name }: RecordingDefinition) =>
    wanted.length === 0 || wanted.includes(name) || wanted.some((argument) => folder.endsWith(`/${argument}`));
  const definitions = module.recordings.filter(isWanted);
  if (definitions.length === 0) continue;
  if (await installPackages(folder)) for (const definition of definitions) await renew(definition, folder);
}
if (wanted.length === 0 || wanted.includes(ENFORCEMENT)) await enforce(join(AGENTS, 'coding-agents'));

if (wanted.some((name) => name !== ENFORCEMENT) && made === 0 && failures.length === 0)
  failures.push(`no recording or folder is called ${wanted.join(', ')}`);
for (const failure of failures) process.stderr.write(`${failure}\n`);
const replayed = made > 0 && replays ? await replay() : 0;
process.exitCode = failures.length > 0 || replayed !== 0 ? 1 : 0;

/** Installs the packages of a folder. @returns whether that worked */
async function installPackages(folder: string): Promise<boolean> {
  // pnpm skips the install scripts of packages. Without this setting it would fail because of that.
  const flags = ['--ignore-workspace', '--frozen-lockfile', '--config.strict-dep-builds=false', '--loglevel=error'];
  const installed = await run('pnpm', ['install', ...flags], { cwd: folder });
  if (installed !== 0) failures.push(`${folder}: the packages could not be installed`);
  return installed === 0;
}

async function enforce(folder: string): Promise<void> {
  if (!(await installPackages(folder))) return;
  const code = await run(process.execPath, ['enforcement.ts'], { cwd: folder });
  if (code !== 0) failures.push(`${ENFORCEMENT}: a coding agent did something else than docs/enforcement says`);
}

async function renew(definition: RecordingDefinition, folder: string): Promise<void> {
  try {
    const recording = await record(definition, folder);
    await writeFile(join(RECORDINGS, `${definition.name}.json`), `${JSON.stringify(recording, null, 2)}\n`);
    process.stdout.write(`${definition.name}: ${recording.version}, ${recording.requests.length} requests\n`);
    made += 1;
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    const [summary] = message.split('\n');
    failures.push(`${definition.name}: ${summary}\n${stderr.slice(-4000)}`);
  }
}

function replay(): Promise<number> {
  const cwd = join(ROOT, 'apps/api');
  const tests = ['test/telemetry/recordings/', 'test/telemetry/reading/', 'test/telemetry/frameworks/'];
  return run(join(cwd, 'node_modules/.bin/vitest'), ['run', '--passWithNoTests', ...tests], { cwd });
}

/** The package folders: one for each framework, and one for the coding agents. */
function packageFolders(): string[] {
  const frameworks = readdirSync(join(AGENTS, 'frameworks')).map((name) => join(AGENTS, 'frameworks', name));
  return [...frameworks, join(AGENTS, 'coding-agents')].filter((folder) => existsSync(join(folder, 'recordings.ts')));
}
