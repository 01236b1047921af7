import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLoad } from './load/load.ts';
import { chooseCores, describeMachine } from './machine.ts';
import type { Options } from './options.ts';
import { selfTimes } from './profile.ts';
import { type Finding, fails, reaches, textOf } from './report.ts';
import { console } from './workloads/console.ts';
import { create } from './workloads/create.ts';
import { decide } from './workloads/decide.ts';
import { eventLoop } from './workloads/event-loop.ts';
import { ingest, ingestMany, ingestSmall, ingestSmall64, ingestSmallMany } from './workloads/ingest.ts';
import { list } from './workloads/list.ts';
import { observationPages, pages } from './workloads/pages.ts';
import { session } from './workloads/session.ts';
import { spanSize } from './workloads/span-size.ts';
import { spans } from './workloads/spans.ts';
import { start } from './workloads/start.ts';
import { traceInBlocks } from './workloads/trace-in-blocks.ts';
import { twoProcesses } from './workloads/two-processes.ts';
import type { Bench, Workload } from './workloads/workload.ts';
import { makeWorld, type WorldSize } from './world/world.ts';

export const WORKLOADS: Record<string, Workload> = {
  list,
  create,
  session,
  'ingest-small': ingestSmall,
  'ingest-small-64': ingestSmall64,
  'ingest-small-many': ingestSmallMany,
  ingest,
  'ingest-many': ingestMany,
  spans,
  'trace-in-blocks': traceInBlocks,
  'span-size': spanSize,
  pages,
  'observation-pages': observationPages,
  start,
  'event-loop': eventLoop,
  decide,
  'two-processes': twoProcesses,
  console,
};

/** Runs workloads one after the other. @returns their findings in order */
export async function runSuite(options: Options, size: WorldSize, print: (text: string) => void): Promise<Finding[]> {
  const chosen = options.only.length === 0 ? Object.keys(WORKLOADS) : options.only;
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'));
  // Removed on a signal as well, because the folder is large.
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  const cores = chooseCores();
  const load = startLoad(cores.load);
  print(`${machineText()}\n${cores.note}; ${options.rounds} rounds of ${options.seconds} s each, interleaved\n\n`);
  try {
    const world = await makeWorld(folder, `sqlite:${join(folder, 'world.db')}`, size);
    const findings: Finding[] = [];
    for (const name of chosen) {
      const profileFolder = options.profile ? join(folder, `profile-${name}`) : null;
      const bench: Bench = { world, cores, load, ...options, profileFolder, say: (text) => print(`  ${text}\n`) };
      const finding = await WORKLOADS[name]?.(bench);
      if (!finding) continue;
      if (profileFolder !== null) finding.notes.push(...(await selfTimes(profileFolder)));
      print(textOf(finding));
      findings.push(finding);
    }
    return findings;
  } finally {
    await load.stop();
    remove();
    process.off('exit', remove);
  }
}

/** Writes the figures as JSON. */
export async function writeReport(path: string, options: Options, findings: readonly Finding[]): Promise<void> {
  const report = {
    measuredAt: new Date().toISOString(),
    machine: describeMachine(),
    options,
    figures: findings.flatMap(({ figures }) =>
      figures.map((figure) => ({ ...figure, reached: reaches(figure), failed: fails(figure) })),
    ),
    findings,
  };
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `${JSON.stringify(report, null, 2)}\n`);
}

function machineText(): string {
  const { processor, cores, memoryGiB, node } = describeMachine();
  return `${processor}, ${cores} cores, ${memoryGiB} GiB, Node ${node}`;
}
