import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Systems give ports above these to whatever asks for any port: Linux those from 32768 on. There another process could get the port
 * before the caller uses it.
 */
const RANGE = [20_000, 32_000] as const;

/** A port of 127.0.0.1 on which nothing listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...RANGE);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
