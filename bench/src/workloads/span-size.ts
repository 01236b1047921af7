import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ask, ownHeaders } from '../answers.ts';
import { batchTemplate } from '../otlp/batch.ts';
import { startFloor } from '../servers/floor.ts';
import { PUBLIC_URL, startQuartermaster } from '../servers/quartermaster.ts';
import { cursorKeyOf } from '../world/cursors.ts';
import { copyOf, fileOfWorld, removeCopy } from '../world/world.ts';
import type { Bench, Workload } from './workload.ts';

const SPANS_PER_BATCH = 500;
const BATCHES = { full: 100, quick: 10 };
const PATH = '/v1/traces';

/** The disk space of a span, including its share of indexes and of its trace, compared with one row for each span. */
export const spanSize: Workload = async (bench) => {
  const batches = BATCHES[bench.quick ? 'quick' : 'full'];
  const files = { ours: copyOf(bench.world, 'size-ours'), floor: copyOf(bench.world, 'size-floor') };
  const bodies = Array.from({ length: batches }, () => batchTemplate(SPANS_PER_BATCH).bytes);
  try {
    await storeBatches(bench, files, bodies);
    const before = statSync(fileOfWorld(bench.world)).size;
    const spans = batches * SPANS_PER_BATCH;
    const [ours, floor] = [files.ours, files.floor].map((file) => (statSync(file).size - before) / spans);
    if (ours === undefined || floor === undefined) throw new Error('both files are measured');
    return {
      title: `Disk of ${spans} spans in batches of ${SPANS_PER_BATCH}`,
      table: null,
      figures: [
        { name: 'span-size: of a row for each span', value: ours / floor, agreed: 0.2, better: 'less', unit: '' },
        { name: 'span-size: a span', value: ours, agreed: null, better: 'less', unit: ' bytes' },
        { name: 'span-size: a span as a row', value: floor, agreed: null, better: 'less', unit: ' bytes' },
      ],
      notes: [],
    };
  } finally {
    for (const file of Object.values(files)) removeCopy(file);
  }
};

/** Sends the same batches to this API and to a floor, and stops both, so that their logs are merged into their files. */
async function storeBatches(
  { cores, world }: Bench,
  files: { ours: string; floor: string },
  bodies: readonly Buffer[],
): Promise<void> {
  const headers = { 'X-API-Key': world.key, 'Content-Type': 'application/x-protobuf' };
  const ours = await startQuartermaster({
    core: cores.server,
    databaseUrl: `sqlite:${files.ours}`,
    secretKey: world.secretKey,
    logPath: join(world.folder, 'span-size.log'),
    profileFolder: null,
  });
  try {
    const send = (port: number, body: Buffer) => ask(port, { method: 'POST', path: PATH, headers, body });
    const answers = [];
    for (const body of bodies) answers.push(await send(ours.port, body));
    const [first] = answers;
    if (!first || answers.some(({ status }) => status !== 200)) throw new Error('a batch was not stored');
    const floor = await startFloor('bare', cores.server, {
      work: 'ingest',
      database: files.floor,
      method: 'POST',
      path: PATH,
      headers: ownHeaders(first),
      publicUrl: PUBLIC_URL,
      cursorKey: cursorKeyOf(world),
    });
    try {
      for (const body of bodies) await send(floor.port, body);
    } finally {
      await floor.stop();
    }
  } finally {
    await ours.stop();
  }
}
