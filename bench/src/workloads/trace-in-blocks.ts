import { join } from 'node:path';
import { traceInRequests } from '../otlp/batch.ts';
import { cpuTimeOf } from '../machine.ts';
import { median } from '../rounds.ts';
import { startQuartermaster } from '../servers/quartermaster.ts';
import { callerAt } from '../world/caller.ts';
import { copyOf, removeCopy } from '../world/world.ts';
import type { Workload } from './workload.ts';

const SIZES = { full: { spans: 10_000, requests: 200 }, quick: { spans: 1000, requests: 20 } };
const SPANS_PER_PAGE = 1000;
const AGREED_MS = 150;
const READS = 5;

/** Reads a whole trace that was sent in many requests, page by page. */
export const traceInBlocks: Workload = async (bench) => {
  const { world } = bench;
  const { spans, requests } = SIZES[bench.quick ? 'quick' : 'full'];
  const file = copyOf(world, 'trace-in-blocks');
  const server = await startQuartermaster({
    core: bench.cores.server,
    databaseUrl: `sqlite:${file}`,
    secretKey: world.secretKey,
    logPath: join(world.folder, 'trace-in-blocks.log'),
    profileFolder: bench.profileFolder,
  });
  try {
    const caller = callerAt(server.port, world.key);
    const trace = traceInRequests(spans, requests);
    for (const request of trace.requests) await caller.sendSpans(request);
    const wholes: number[] = [];
    const cpu: number[] = [];
    const pages: number[] = [];
    for (let read = 0; read < READS; read += 1) {
      let [cursor, found, time]: [string | null, number, number] = [null, 0, 0];
      const cpuBefore = cpuTimeOf(server.pid);
      do {
        const query: string = cursor === null ? '' : `&cursor=${cursor}`;
        const began = performance.now();
        const text = await caller.getText(`/v1/traces/${trace.traceId}/spans?limit=${SPANS_PER_PAGE}${query}`);
        pages.push(performance.now() - began);
        time += performance.now() - began;
        // The time to parse is not measured.
        const page = JSON.parse(text) as { items: unknown[]; nextCursor: string | null };
        found += page.items.length;
        cursor = page.nextCursor;
      } while (cursor !== null);
      if (found !== spans) throw new Error(`${found} spans were read, not ${spans}`);
      wholes.push(time);
      cpu.push(cpuTimeOf(server.pid) - cpuBefore);
    }
    return {
      title: `A trace of ${spans} spans in ${requests} blocks, read in pages of ${SPANS_PER_PAGE}`,
      table: null,
      figures: [
        { name: 'trace-in-blocks: the whole', value: median(wholes), agreed: AGREED_MS, better: 'less', unit: ' ms' },
        {
          name: 'trace-in-blocks: CPU time of the whole',
          value: median(cpu),
          agreed: null,
          better: 'less',
          unit: ' ms',
        },
        { name: 'trace-in-blocks: a page', value: median(pages), agreed: null, better: 'less', unit: ' ms' },
      ],
      notes: [],
    };
  } finally {
    await server.stop();
    removeCopy(file);
  }
};
