import { compareWithFloors } from './against-floors.ts';
import type { Workload } from './workload.ts';

/** Opens gateway sessions (#5): computes the grants, inserts, and makes an ES256 signature. */
export const session: Workload = (bench) =>
  compareWithFloors(bench, {
    name: 'session',
    work: 'session',
    writes: 'gateway_sessions',
    title: 'Gateway session (#5)',
    asked: {
      method: 'POST',
      path: `/v1/gateways/${bench.world.gatewayId}/sessions`,
      headers: { 'X-API-Key': bench.world.key, 'Content-Type': 'application/json' },
      body: '{}',
    },
    connections: 16,
    floors: ['bare'],
    agreed: 0.7,
  });
