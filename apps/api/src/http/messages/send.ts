import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasBody } from './body.ts';
import { BODY_LIMIT } from './limits.ts';

/** How much of the body is still received after a refusal, in bytes, and for how long, in milliseconds. */
const LINGER_BYTES = 16 * BODY_LIMIT;
const LINGER_MS = 5000;

/** The pause after each piece of a refused body, in milliseconds. A piece has up to 64 KiB. */
const DISCARD_PAUSE_MS = 50;
const LINGER_PAUSE_MS = 5;

/** An error response of REST. */
export type Answer = {
  status: number;
  headers: Record<string, string>;
  contentType: string;
  body: unknown;
  /** A bug, or a failure that no code expects: it belongs in the log. */
  unexpected: boolean;
};

/** Sends an error. */
export function sendAnswer(req: IncomingMessage, res: ServerResponse, answer: Answer): void {
  if (res.headersSent) {
    // An answer has begun already. Break the connection, so that the client does not take half of it for the whole.
    if (!res.writableEnded) res.destroy();
    return;
  }
  res.statusCode = answer.status;
  for (const [name, value] of Object.entries(answer.headers)) res.setHeader(name, value);
  res.setHeader('Content-Type', answer.contentType);
  // Caches may store some errors, such as a 404, unless they are told not to.
  res.setHeader('Cache-Control', 'no-store');
  sendText(req, res, JSON.stringify(answer.body));
}

/**
 * Sends a body with its length; to HEAD only the length.
 *
 * A client that is still sending must get its answer. Closing at once would reset the connection, and the reset often
 * overtakes the answer. So the whole answer is sent, and the connection is closed when the client has finished, or has sent
 * {@link LINGER_BYTES} more, or after {@link LINGER_MS}. After the rest of a small body the connection stays open.
 */
export function sendText(req: IncomingMessage, res: ServerResponse, text: string | Uint8Array): void {
  const { bytes, encoding } = measured(text);
  res.setHeader('Content-Length', bytes);
  const length = Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  const isReceived = req.complete || req.destroyed || !hasBody(req) || req.method === 'HEAD';
  if (isReceived || length <= BODY_LIMIT) {
    if (!isReceived) discard(req, { pauseMs: DISCARD_PAUSE_MS });
    res.end(text, encoding);
    return;
  }
  res.setHeader('Connection', 'close');
  res.write(text);
  let more = 0;
  const end = () => {
    clearTimeout(timer);
    res.end();
  };
  const timer = setTimeout(end, LINGER_MS).unref();
  req.on('data', (chunk: Buffer) => {
    more += chunk.length;
    if (more > LINGER_BYTES) end();
  });
  req.on('end', end).on('error', end).on('close', end);
  discard(req, { pauseMs: LINGER_PAUSE_MS });
}

/**
 * Sends a whole answer to a request whose body was received. No header may be set before: all are written at once, because each call
 * of `setHeader` validates and stores one.
 *
 * @param head names and values in turn
 */
export function sendWhole(
  res: ServerResponse,
  { status, head, text }: { status: number; head: readonly string[]; text: string },
): void {
  const { bytes, encoding } = measured(text);
  res.writeHead(status, [...head, 'Content-Length', String(bytes)]).end(text, encoding);
}

/** For ASCII texts both encodings give the same bytes, and Node writes latin1 in half the time. */
function measured(text: string | Uint8Array): { bytes: number; encoding: 'latin1' | 'utf8' } {
  const bytes = typeof text === 'string' ? Buffer.byteLength(text) : text.length;
  return { bytes, encoding: bytes === text.length ? 'latin1' : 'utf8' };
}

/** Receives the rest of a body, and pauses after each piece. At full speed it would take much of the event loop. */
function discard(req: IncomingMessage, { pauseMs }: { pauseMs: number }): void {
  req.on('data', () => {
    req.pause();
    // Otherwise the pauses would keep what has arrived in memory long after the connection is closed.
    setTimeout(() => (req.socket.destroyed ? req.destroy() : req.resume()), pauseMs).unref();
  });
  req.on('error', () => {});
  req.resume();
}
