import { join } from 'node:path';
import type { FloorSettings } from '../floors/floor.ts';
import { ended, spawnNode } from '../machine.ts';
import type { MeasuredServer } from './measured-server.ts';

/** Starts a floor, bare or with Fastify, in a separate process. */
export async function startFloor(
  name: 'bare' | 'fastify',
  core: number | null,
  settings: FloorSettings,
): Promise<MeasuredServer> {
  const child = spawnNode(core, [join(import.meta.dirname, `${name}.ts`)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message: { port: number }) => resolve(message.port));
    child.once('exit', () => reject(new Error(`the floor ${name} ended at its start`)));
    child.send(settings);
  });
  return {
    name,
    pid: child.pid ?? 0,
    port,
    stop: async () => {
      child.disconnect();
      await ended(child);
    },
  };
}
