import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { HEALTH_STREAM_MS } from '../../server/public-paths.ts';
import { type Finding, failed, ok, skipped } from './finding.ts';

/** After this time without an answer, a proxy waits for the rest of the body. In milliseconds. */
const ANSWER_MS = 3000;

/** Whether a proxy in front collects answers or bodies of requests before it passes them on. */
export async function checkBuffering(url: string): Promise<Finding[]> {
  return [await streams(url), await requestBodies(url)];
}

/** Reads the two events at `/healthz`. If a proxy collects them, they arrive together. */
async function streams(url: string): Promise<Finding> {
  const check = 'streams';
  const arrived: number[] = [];
  try {
    const signal = AbortSignal.timeout(10 * HEALTH_STREAM_MS);
    const answer = await fetch(`${url}/healthz`, { headers: { Accept: 'text/event-stream' }, signal });
    // A server of another version, which `version` reports.
    if (answer.headers.get('content-type')?.startsWith('text/event-stream') !== true)
      return skipped(check, 'the server has no stream to try');
    for await (const _chunk of answer.body ?? []) arrived.push(performance.now());
  } catch {
    const fix = 'let the proxy pass on streams as they come (text/event-stream), and keep them open for 60 s';
    return failed(check, 'a stream of events breaks off', fix);
  }
  const pause = (arrived.at(-1) ?? 0) - (arrived[0] ?? 0);
  if (pause >= HEALTH_STREAM_MS / 2) return ok(check, 'streams of events are passed on as they come');
  return failed(
    check,
    'a proxy collects a stream of events until its end',
    'MCP servers behind gateways need streams. nginx: proxy_buffering off, or no proxy_ignore_headers X-Accel-Buffering',
  );
}

/** Sends the beginning of a body without a key. The server refuses it at once; a proxy that collects the body waits for the rest. */
async function requestBodies(url: string): Promise<Finding> {
  const check = 'request bodies';
  const isAnswered = await answersBeforeTheEnd(`${url}/v1/traces`);
  if (isAnswered) return ok(check, 'bodies of requests are passed on as they come');
  return ok(check, 'a proxy collects bodies before it passes them on, which needs room on its disk and does no harm');
}

function answersBeforeTheEnd(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': 1000 };
    const request = url.startsWith('https:') ? httpsRequest : httpRequest;
    const sent = request(url, { method: 'POST', headers, agent: false });
    const finish = (isAnswered: boolean) => {
      clearTimeout(timer);
      sent.destroy();
      resolve(isAnswered);
    };
    const timer = setTimeout(() => finish(false), ANSWER_MS);
    sent.once('response', () => finish(true));
    sent.once('error', () => finish(false));
    sent.write('{"resourceSpans":[]');
  });
}
