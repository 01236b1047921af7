import { compareWithFloors } from './against-floors.ts';
import type { Workload } from './workload.ts';

/** Reads a whole trace (#15). */
export const spans: Workload = (bench) =>
  compareWithFloors(bench, {
    name: 'spans',
    work: 'spans',
    title: `Spans of a trace (#15), ${bench.world.trace.spans} spans`,
    asked: {
      method: 'GET',
      path: `/v1/traces/${bench.world.trace.id}/spans`,
      headers: { 'X-API-Key': bench.world.key },
    },
    connections: 4,
    floors: ['bare'],
    agreed: 0.7,
  });
