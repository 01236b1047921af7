import { compareWithFloors } from './against-floors.ts';
import type { Workload } from './workload.ts';

/** A first page of 25 providers (#18), with an API key. */
export const list: Workload = (bench) =>
  compareWithFloors(bench, {
    name: 'list',
    work: 'list',
    title: 'Authenticated list of 25 providers (#18)',
    asked: { method: 'GET', path: '/v1/providers', headers: { 'X-API-Key': bench.world.key } },
    connections: 16,
    floors: ['fastify', 'bare'],
    agreed: 0.75,
    aheadOfFastify: true,
  });
