import type { Readable } from 'node:stream';
import { ApiError } from '../../platform/errors.ts';
import type { HeldBytes } from './byte-budget.ts';
import { tooLargeDetail } from './decompress.ts';

/** The default time limit of an upload, in milliseconds. */
export const READ_TIMEOUT_MS = 30_000;

/** A chunk takes at least this much memory, in bytes: its Buffer is an object of its own. */
const MIN_CHUNK_COST = 512;

/**
 * Reads a whole body. Beyond a limit it leaves the stream open, because the answer is sent on the same connection.
 *
 * @param maxBytes a larger body is refused with 413
 * @param timeoutMs an upload that takes longer is aborted
 * @param held counts the memory of the received bytes
 */
export async function collectBody(
  stream: Readable,
  { maxBytes, timeoutMs, held }: { maxBytes: number; timeoutMs: number; held: HeldBytes },
): Promise<Buffer> {
  const timer = setTimeout(() => stream.destroy(new Error('the body did not arrive in time')), timeoutMs);
  try {
    return await collect(stream, maxBytes, held);
  } catch (error) {
    throw error instanceof ApiError ? error : cutOff();
  } finally {
    clearTimeout(timer);
  }
}

export function bodyTooLarge(maxBytes: number): ApiError {
  return new ApiError('body_too_large', tooLargeDetail(maxBytes));
}

function collect(stream: Readable, maxBytes: number, held: HeldBytes): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > maxBytes) throw bodyTooLarge(maxBytes);
        held.add(Math.max(chunk.length, MIN_CHUNK_COST));
        chunks.push(chunk);
      } catch (error) {
        // The rest of the body is discarded. It must not count: the bytes of this request are released already.
        stream.off('data', onData).pause();
        reject(error);
      }
    };
    stream.on('data', onData);
    stream.on('end', () => resolve(Buffer.concat(chunks, size)));
    stream.on('error', reject);
    stream.on('close', () => reject(cutOff()));
  });
}

/** No client receives this answer. It only keeps the request from being logged and counted as a bug (500). */
function cutOff(): ApiError {
  return new ApiError('request_malformed', 'The connection ended before the body did.');
}
