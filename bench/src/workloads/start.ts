import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../answers.ts';
import { cpuTimeOf, residentMegabytes } from '../machine.ts';
import { number } from '../report.ts';
import { median } from '../rounds.ts';
import { startQuartermaster } from '../servers/quartermaster.ts';
import { copyOf, removeCopy } from '../world/world.ts';
import type { Workload } from './workload.ts';

const AGREED_MS = 1500;
const AGREED_MEGABYTES = 150;

/** A process is at rest when it used less than `cpuMs` of CPU time during `duringMs`. In milliseconds. */
const REST = { cpuMs: 20, duringMs: 2000, atMostMs: { full: 30_000, quick: 2000 } };

/** The time from the start of the process to its first response, on an existing database; and its memory at rest. */
export const start: Workload = async (bench) => {
  const { world } = bench;
  const file = copyOf(world, 'start');
  const times: number[] = [];
  const cpu: number[] = [];
  const memory: number[] = [];
  try {
    for (let round = 0; round < bench.rounds; round += 1) {
      const server = await startQuartermaster({
        core: bench.cores.server,
        databaseUrl: `sqlite:${file}`,
        secretKey: world.secretKey,
        logPath: join(world.folder, 'start.log'),
        profileFolder: bench.profileFolder,
      });
      try {
        const asked = performance.now();
        const answer = await ask(server.port, {
          method: 'GET',
          path: '/v1/providers',
          headers: { 'X-API-Key': world.key },
        });
        if (answer.status !== 200) throw new Error(`the first answer is ${answer.status}`);
        times.push(server.readyMs + performance.now() - asked);
        cpu.push(cpuTimeOf(server.pid));
        await atRest(server.pid, REST.atMostMs[bench.quick ? 'quick' : 'full']);
        memory.push(residentMegabytes(server.pid));
      } finally {
        await server.stop();
      }
    }
  } finally {
    removeCopy(file);
  }
  return {
    title: 'Start on an existing database, and memory at rest',
    table: null,
    figures: [
      { name: 'start: to the first answer', value: median(times), agreed: AGREED_MS, better: 'less', unit: ' ms' },
      { name: 'start: CPU time until then', value: median(cpu), agreed: null, better: 'less', unit: ' ms' },
      { name: 'start: memory at rest', value: median(memory), agreed: AGREED_MEGABYTES, better: 'less', unit: ' MB' },
    ],
    notes: [`${times.length} starts: ${times.map(number).join(', ')} ms; ${memory.map(number).join(', ')} MB`],
  };
};

async function atRest(pid: number, atMostMs: number): Promise<void> {
  for (const end = performance.now() + atMostMs; performance.now() < end; ) {
    const before = cpuTimeOf(pid);
    await sleep(REST.duringMs);
    if (!(cpuTimeOf(pid) - before > REST.cpuMs)) return;
  }
}
