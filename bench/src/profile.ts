import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { number } from './report.ts';

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
};

const SHOWN = 25;

/** The beginning of a profile that is skipped, because it covers the start of the server. In microseconds. */
const START_MICROSECONDS = 2_500_000;

/** The functions with the highest self time in the CPU profiles of a folder. */
export async function selfTimes(folder: string): Promise<string[]> {
  const times = new Map<string, number>();
  for (const file of await readdir(folder)) {
    const profile = JSON.parse(await readFile(join(folder, file), 'utf8')) as Profile;
    const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
    let elapsed = 0;
    for (const [index, sample] of profile.samples.entries()) {
      const delta = profile.timeDeltas[index] ?? 0;
      elapsed += delta;
      if (elapsed < START_MICROSECONDS) continue;
      const name = names.get(sample) ?? '';
      times.set(name, (times.get(name) ?? 0) + delta);
    }
  }
  times.delete('(idle)');
  const total = [...times.values()].reduce((sum, one) => sum + one, 0);
  const sorted = [...times].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN);
  return ['self time, of all but idle:', ...sorted.map(([name, time]) => `${number((time * 100) / total)} %  ${name}`)];
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  const place = url
    .replace(/^.*\/(node_modules\/(?:\.pnpm\/[^/]+\/node_modules\/)?|quartermaster\/)/, '')
    .replace(/^file:\/\//, '');
  return place === '' ? name : `${name}  ${place}:${lineNumber + 1}`;
}
