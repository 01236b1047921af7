import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../apps/api/src/config.ts';
import { openApiDocument } from '../apps/api/src/http/openapi/openapi.ts';
import { operations } from '../apps/api/src/server/router.ts';
import { ROOT, run } from './run.ts';

// Writes the OpenAPI document and the client that is generated from it. With --check it changes nothing, and fails if the
// committed files are stale.
const CLIENT = join(ROOT, 'packages/client');
const DOCUMENT = join(CLIENT, 'openapi.json');

const document = openApiDocument({ operations, version: VERSION, serverUrl: 'http://127.0.0.1:8080' });
const text = `${JSON.stringify(document, null, 2)}\n`;

if (process.argv.includes('--check')) {
  const stale = (await readFile(DOCUMENT, 'utf8')) === text ? await staleFiles() : ['openapi.json'];
  for (const file of stale) process.stderr.write(`packages/client/${file} is stale: run npm run generate\n`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  await writeFile(DOCUMENT, text);
  process.exitCode = await generateClient(join(CLIENT, 'src'));
}

function generateClient(output: string): Promise<number> {
  const program = join(CLIENT, 'node_modules/.bin/openapi-ts');
  return run(program, ['--silent'], { cwd: CLIENT, environment: { QM_CLIENT_OUTPUT: output } });
}

async function staleFiles(): Promise<string[]> {
  const fresh = await mkdtemp(join(tmpdir(), 'quartermaster-client-'));
  try {
    if ((await generateClient(fresh)) !== 0) throw new Error('the client could not be generated');
    const names = new Set([...(await filesOf(fresh)), ...(await filesOf(join(CLIENT, 'src')))]);
    const differs = async (name: string) =>
      (await contentOf(join(fresh, name))) !== (await contentOf(join(CLIENT, 'src', name)));
    const checked = await Promise.all([...names].map(async (name) => ((await differs(name)) ? [`src/${name}`] : [])));
    return checked.flat().toSorted();
  } finally {
    await rm(fresh, { recursive: true });
  }
}

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

async function contentOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return null;
  }
}
