import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { MAX_SMALL_CHUNKS, SMALL_CHUNK_BYTES } from '../../http/messages/limits.ts';
import { networkOf } from '../../http/rate-limits/limits.ts';
import { PerSecond } from '../../http/rate-limits/per-second.ts';

/** Calls of one address that may be open, and that may begin in a second. */
const MAX_CALLS = 1000;

type FloodOptions = {
  isProxy: (address: string, hop: number) => boolean;
  /** Closes all connections of an address. */
  onFlood: (address: string) => void;
};

/**
 * Limits the calls and small frames (DATA, PING and SETTINGS) of one address over all of its connections, because Node handles
 * all frames of a read at once. Streams that the client resets at once do not count for HTTP/2's limit of concurrent streams.
 * Trusted proxies are exempt.
 */
export function closeFloods(server: Http2Server, { isProxy, onFlood }: FloodOptions): void {
  const open = new Map<string, number>();
  const begun = new PerSecond(MAX_CALLS);
  const frames = new PerSecond(MAX_SMALL_CHUNKS);

  const close = (session: ServerHttp2Session, address: string) => {
    session.destroy();
    onFlood(address);
  };
  const countFrame = (session: ServerHttp2Session, address: string) => {
    if (frames.exceeds(address)) close(session, address);
  };
  const countCall = (stream: ServerHttp2Stream, session: ServerHttp2Session, address: string) => {
    const network = networkOf(address);
    const count = (open.get(network) ?? 0) + 1;
    open.set(network, count);
    stream.once('close', () => {
      const others = (open.get(network) ?? 0) - 1;
      if (others > 0) open.set(network, others);
      else open.delete(network);
    });
    if (begun.exceeds(address) || count > MAX_CALLS) close(session, address);
  };

  server.on('session', (session) => {
    const address = session.socket.remoteAddress ?? '';
    if (isProxy(address, 0)) return;
    session.on('ping', () => countFrame(session, address));
    session.on('remoteSettings', () => countFrame(session, address));
    session.on('stream', (stream: ServerHttp2Stream) => {
      countCall(stream, session, address);
      const { push } = stream;
      // Called by Node with each DATA frame, also before anything reads the body.
      stream.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
        if (chunk !== null && chunk.length < SMALL_CHUNK_BYTES) countFrame(session, address);
        return stream.destroyed ? false : push.call(stream, chunk, encoding);
      };
    });
  });
}
