import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { finding, type Options, type Part } from './part.ts';
import { temporaryFolder } from './stores.ts';

const API = join(import.meta.dirname, '../../apps/api');

/** Requests in total, divided among the operations on each dialect. `npm run test:deep` has its own number. */
const REQUESTS = { long: 100_000, short: 4_000 };
const DIALECTS = 2;

type Report = {
  testResults: { assertionResults: { status: string; title: string; failureMessages: string[] }[] }[];
};

/** The API's fuzzing suite with more requests, on both dialects. */
export const fuzz: Part = {
  name: 'fuzz',
  async run({ short, seed }: Options) {
    const folder = await temporaryFolder();
    try {
      const requests = short ? REQUESTS.short : REQUESTS.long;
      const operations = await operationCount();
      const each = Math.ceil(requests / operations / DIALECTS);
      const file = join(folder, 'report.json');
      const said = await vitest(file, { FUZZ_CASES: String(each), FUZZ_SEED: String(seed % 2 ** 31) });
      const { testResults } = JSON.parse(
        await readFile(file, 'utf8').catch(() => {
          throw new Error(`the suite did not run: ${said}`);
        }),
      ) as Report;
      const results = testResults.flatMap(({ assertionResults }) => assertionResults);
      const failed = results.filter(({ status }) => status !== 'passed');
      const figures = { suites: results.length, operations, requests: results.length * each };
      return [
        finding({
          promise: 'requests made from the document: no 5xx, answers as declared, no effect of what is refused',
          measured: `${figures.requests} requests, ${each} for each of ${operations} operations on each dialect; ${failed.length} operations failed`,
          figures,
          faults: failed.map(({ title, failureMessages }) => `${title}: ${failureMessages.join('\n')}`.slice(0, 2000)),
        }),
      ];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

async function operationCount(): Promise<number> {
  const path = join(API, '../../packages/client/openapi.json');
  const { paths } = JSON.parse(await readFile(path, 'utf8')) as { paths: Record<string, object> };
  return Object.values(paths).reduce((total, operations) => total + Object.keys(operations).length, 0);
}

function vitest(outputFile: string, settings: Record<string, string>): Promise<string> {
  const program = join(API, 'node_modules/vitest/vitest.mjs');
  const args = ['run', '--config', 'vitest.fuzz.config.ts', '--reporter=json', `--outputFile=${outputFile}`];
  const child = spawn(process.execPath, [program, ...args], {
    cwd: API,
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-4000);
    });
  }
  return new Promise((resolve) => child.on('close', () => resolve(text)));
}
