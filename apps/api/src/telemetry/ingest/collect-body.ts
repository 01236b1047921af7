import type { Readable } from 'node:stream';
import { ApiError } from '../../errors.ts';
import type { HeldBytes } from './byte-budget.ts';

/**
 * Reads the whole of a body, up to a limit. Leaves the stream open: the answer still has to go out on its connection.
 *
 * @param maxBytes of the body
 * @param timeoutMs an upload that takes longer is given up
 * @param held counts what came in
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
  return new ApiError('body_too_large', `The body has more than ${maxBytes} bytes.`);
}

function collect(stream: Readable, maxBytes: number, held: HeldBytes): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > maxBytes) throw bodyTooLarge(maxBytes);
        held.add(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        stream.pause();
        reject(error);
      }
    });
    stream.on('end', () => resolve(Buffer.concat(chunks, size)));
    stream.on('error', reject);
    stream.on('close', () => reject(cutOff()));
  });
}

/** No one is left to read this answer. It is for the log and the counters, where it would look like a bug otherwise. */
function cutOff(): ApiError {
  return new ApiError('request_malformed', 'The connection ended before the body did.');
}
