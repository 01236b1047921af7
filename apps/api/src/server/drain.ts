import type { RequestListener, Server } from 'node:http';
import { setImmediate as yieldToEventLoop, setTimeout as sleep } from 'node:timers/promises';

/** Time that requests in flight get to finish, in milliseconds. */
const GRACE_MS = 10_000;

/** How often idle connections are closed in that time, in milliseconds. */
const IDLE_CHECK_MS = 50;

/** A turn of the event loop that took no longer than this had almost nothing to do, in milliseconds. */
const QUIET_MS = 1;

/** The longest wait for a quiet turn, in milliseconds. */
const QUIET_WITHIN_MS = 1000;

/**
 * Stops accepting connections, and waits until the requests in flight are answered.
 *
 * A connection that only the system has accepted, and a request that was sent over an idle connection but not read yet, are
 * in flight as well: closing would reset them. So nothing is closed before a turn of the event loop in which nothing arrived.
 * Measured with `npm run torture -- --only shutdown --loops 6`: without this, 65 connections were reset; with it, none.
 */
export async function drainServer(server: Server): Promise<void> {
  const resume = holdRequests(server);
  await waitForQuietTurn(server);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  resume();
  const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  const done = new AbortController();
  // Clients keep connections open for further requests, so each is closed once its last request is answered.
  const closing = closeIdleConnections(server, done.signal);
  await closed;
  clearTimeout(timer);
  done.abort();
  await closing;
}

/**
 * Keeps requests waiting. If they were answered now, clients would open new connections, and this would never end.
 *
 * @returns a function that lets the waiting and all further requests continue
 */
function holdRequests(server: Server): () => void {
  const listeners = server.listeners('request') as RequestListener[];
  const held: Parameters<RequestListener>[] = [];
  const hold: RequestListener = (...request) => held.push(request);
  server.removeAllListeners('request').on('request', hold);
  return () => {
    server.off('request', hold);
    for (const listener of listeners) server.on('request', listener);
    for (const request of held) server.emit('request', ...request);
  };
}

async function closeIdleConnections(server: Server, done: AbortSignal): Promise<void> {
  while (!done.aborted) {
    await sleep(IDLE_CHECK_MS, undefined, { signal: done }).catch(() => {});
    await waitForQuietTurn(server);
    server.closeIdleConnections();
  }
}

/**
 * Waits for a turn of the event loop that found no connection and no request, and was so short that hardly anything can have
 * arrived since. It may take several turns, because libuv accepts one connection per turn. It resolves right after the turn
 * has polled the sockets; a timer would not.
 */
async function waitForQuietTurn(server: Server): Promise<void> {
  let busy = false;
  const markBusy = () => {
    busy = true;
  };
  server.on('connection', markBusy).on('request', markBusy);
  const started = performance.now();
  await yieldToEventLoop();
  for (let before = performance.now(); ; ) {
    busy = false;
    await yieldToEventLoop();
    const now = performance.now();
    if ((!busy && now - before < QUIET_MS) || now - started > QUIET_WITHIN_MS) break;
    before = now;
  }
  server.off('connection', markBusy).off('request', markBusy);
}
