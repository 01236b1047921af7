import { basename } from 'node:path';
import { ended, spawnNode } from '../machine.ts';

export type ChildServer = { pid: number; port: number; stop: () => Promise<void> };

/**
 * Starts a server in a separate process. The program gets its settings as the first message, answers with `{ port }`, and ends when
 * the channel is closed.
 */
export async function startChildServer(core: number | null, file: string, settings: object): Promise<ChildServer> {
  const child = spawnNode(core, [file], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message: { port: number }) => resolve(message.port));
    child.once('exit', () => reject(new Error(`${basename(file)} ended at its start`)));
    child.send(settings);
  });
  return {
    pid: child.pid ?? 0,
    port,
    stop: async () => {
      child.disconnect();
      await ended(child);
    },
  };
}
