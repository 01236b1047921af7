import type { RequestListener, Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Requests in flight get so long to finish, in milliseconds. */
const GRACE_MS = 10_000;

/** How often connections without a request are looked for meanwhile, in milliseconds. */
const IDLE_CHECK_MS = 50;

/** A turn of the event loop that took no longer had next to nothing to do, in milliseconds. */
const QUIET_MS = 1;

/** A server that is never quiet stops all the same after so long, in milliseconds. */
const QUIET_WITHIN_MS = 1000;

/**
 * Takes no new connections, and waits until the requests in flight are answered.
 *
 * A connection that the system has taken, and a request that has come in over one that was idle, are in flight as well:
 * closed before they were read, they would be reset. So nothing is closed before a turn in which nothing came in.
 */
export async function drained(server: Server): Promise<void> {
  const resume = hold(server);
  await quiet(server);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  resume();
  const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  const done = new AbortController();
  // Clients keep their connections for the next request: each is closed once its last one is answered.
  const closing = closeIdle(server, done.signal);
  await closed;
  clearTimeout(timer);
  done.abort();
  await closing;
}

/**
 * Lets requests wait: what is answered now makes clients connect anew, and there would be no end of those.
 *
 * @returns what lets them, and all further ones, go on
 */
function hold(server: Server): () => void {
  const listeners = server.listeners('request') as RequestListener[];
  const held: Parameters<RequestListener>[] = [];
  const wait: RequestListener = (...request) => held.push(request);
  server.removeAllListeners('request').on('request', wait);
  return () => {
    server.off('request', wait);
    for (const listener of listeners) server.on('request', listener);
    for (const request of held) server.emit('request', ...request);
  };
}

async function closeIdle(server: Server, done: AbortSignal): Promise<void> {
  while (!done.aborted) {
    await sleep(IDLE_CHECK_MS, undefined, { signal: done }).catch(() => {});
    await quiet(server);
    server.closeIdleConnections();
  }
}

/**
 * Waits for a turn of the event loop that read all there was: no connection, no request, and over at once, so that hardly
 * anything can have come in since. libuv accepts one connection a turn; those that wait take several. Resolves right
 * after the sockets were looked at, which timers do not.
 */
async function quiet(server: Server): Promise<void> {
  let busy = false;
  const note = () => {
    busy = true;
  };
  server.on('connection', note).on('request', note);
  const started = performance.now();
  await nextTurn();
  for (let before = performance.now(); ; ) {
    busy = false;
    await nextTurn();
    const now = performance.now();
    if ((!busy && now - before < QUIET_MS) || now - started > QUIET_WITHIN_MS) break;
    before = now;
  }
  server.off('connection', note).off('request', note);
}
