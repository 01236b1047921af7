import { statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { migrate, openDatabase } from '@quartermaster/db/database.ts';
import { listSpans } from '@quartermaster/db/repositories/spans.ts';
import { expandStoredJson } from '@quartermaster/db/stored-json.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';
import { cpuTimeOf } from '../machine.ts';
import { addFormerSpans, type FormerTrace } from '../world/former-spans.ts';
import { copyOf, removeCopy } from '../world/world.ts';
import type { Workload } from './workload.ts';

const SPANS = { full: 1_000_000, quick: 5000 };

/** Moves the rows of the former table of spans into blocks, and compares responses. */
export const spanMigration: Workload = async (bench) => {
  const file = copyOf(bench.world, 'span-migration');
  try {
    const spans = SPANS[bench.quick ? 'quick' : 'full'];
    const sample = addFormerSpans(file, bench.world.tenantId, spans);
    const before = statSync(file).size;
    const db = await openDatabase(`sqlite:${file}`, '/');
    const [began, cpuBefore] = [performance.now(), cpuTimeOf(process.pid)];
    let seconds: number;
    try {
      await migrate(db, bench.say);
      seconds = (performance.now() - began) / 1000;
      for (const trace of sample) await expectSameAnswer(db, bench.world.tenantId, trace);
    } finally {
      await db.destroy();
    }
    const cpu = (cpuTimeOf(process.pid) - cpuBefore) / 1000;
    const after = statSync(file).size;
    const megabytes = (bytes: number) => bytes / 1e6;
    return {
      title: `Rows of ${spans} spans moved into blocks`,
      table: null,
      figures: [
        {
          name: 'span-migration: file after, of before',
          value: after / before,
          agreed: 0.25,
          better: 'less',
          unit: '',
        },
        { name: 'span-migration: time', value: seconds, agreed: null, better: 'less', unit: ' s' },
        { name: 'span-migration: CPU time', value: cpu, agreed: null, better: 'less', unit: ' s' },
        { name: 'span-migration: before', value: megabytes(before), agreed: null, better: 'less', unit: ' MB' },
        { name: 'span-migration: after', value: megabytes(after), agreed: null, better: 'less', unit: ' MB' },
      ],
      notes: [`the answers of ${sample.length} traces are as they were`],
    };
  } finally {
    removeCopy(file);
  }
};

type Db = Awaited<ReturnType<typeof openDatabase>>;

async function expectSameAnswer(db: Db, tenantId: string, { traceId, answer }: FormerTrace): Promise<void> {
  const page = await listSpans(db, wholeTenant(tenantId), traceId, { limit: 1000, after: null });
  const items = expandStoredJson(page?.items ?? []);
  if (!isDeepStrictEqual(items, answer)) throw new Error(`the spans of ${traceId} are not answered as before`);
}
