import { join } from 'node:path';
import type { FloorSettings } from '../floors/floor.ts';
import { startChildServer } from './child-server.ts';
import type { MeasuredServer } from './measured-server.ts';

/** Starts a floor, bare or with Fastify, in a separate process. */
export async function startFloor(
  name: 'bare' | 'fastify',
  core: number | null,
  settings: FloorSettings,
): Promise<MeasuredServer> {
  return { name, ...(await startChildServer(core, join(import.meta.dirname, `${name}.ts`), settings)) };
}
