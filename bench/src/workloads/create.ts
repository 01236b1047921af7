import { compareWithFloors } from './against-floors.ts';
import type { Workload } from './workload.ts';

/** Creates service accounts (#2). Each response is sent after its record is on the disk. */
export const create: Workload = (bench) =>
  compareWithFloors(bench, {
    name: 'create',
    work: 'create',
    writes: 'service_accounts',
    title: 'Create a service account (#2), durable',
    asked: {
      method: 'POST',
      path: '/v1/service-accounts',
      headers: { 'X-API-Key': bench.world.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        name: 'invoice-agent',
        displayName: 'Invoice agent',
        description: 'Reads invoices and files them.',
      }),
    },
    connections: 16,
    floors: ['bare'],
    agreed: 0.7,
  });
