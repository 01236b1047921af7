import { parentPort, workerData } from 'node:worker_threads';
import { request } from 'undici';

// A thread that reads all pages of a trace, and posts their statuses and lengths.

/** What the thread is given. */
export type Reading = { url: string; key: string; traceId: string };

/** The status of a page and its length in bytes. */
export type Page = { status: number; length: number };

const { url, key, traceId } = workerData as Reading;

const pages: Page[] = [];
let cursor: string | null = null;
do {
  const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
  const path = `/v1/traces/${traceId}/spans?limit=1000${query}`;
  const answer = await request(url + path, { headers: { 'x-api-key': key } });
  const body = Buffer.from(await answer.body.arrayBuffer());
  pages.push({ status: answer.statusCode, length: body.length });
  cursor = JSON.parse(body.toString()).nextCursor;
} while (cursor !== null);
const port = parentPort;
port?.postMessage(pages);
