import type { IncomingMessage, ServerResponse } from 'node:http';
import { callerRequestIdOf, requestIdOf } from '../http/request-id.ts';
import type { Services } from '../services.ts';

/** Which operation an answer is of, for the log line and the metrics. */
const OPERATION = Symbol('operation');

type Logged = ServerResponse & { [OPERATION]?: string };

/** Says which operation a request turned out to be. */
export function noteOperation(res: ServerResponse, operationId: string | undefined): void {
  if (operationId !== undefined) (res as Logged)[OPERATION] = operationId;
}

/** The caller's own id of a request, where they sent one. */
export function loggedCallerId(req: IncomingMessage): { callerRequestId?: string } {
  const callerRequestId = callerRequestIdOf(req);
  return callerRequestId === null ? {} : { callerRequestId };
}

/** One log line a request: nothing of its headers, query and body, since secrets may stand there. */
export function requestLog({ log, metrics }: Services) {
  // Kept: to look one up by its labels costs more than to count.
  const timers = new Map<string, ReturnType<typeof metrics.requests.labels>>();
  const timerOf = (operationId: string, status: number) => {
    const name = `${operationId} ${status}`;
    const kept = timers.get(name);
    if (kept) return kept;
    const timer = metrics.requests.labels({ operation: operationId, status });
    timers.set(name, timer);
    return timer;
  };
  return (req: IncomingMessage, res: ServerResponse): void => {
    const start = performance.now();
    // What mounts a part of the service below a path changes it meanwhile.
    const target = req.url ?? '';
    res.on('close', () => {
      const durationMs = performance.now() - start;
      const operationId = (res as Logged)[OPERATION];
      const status = res.writableFinished ? res.statusCode : 499;
      if (operationId !== undefined) timerOf(operationId, status).observe(durationMs / 1000);
      log.info(
        {
          requestId: requestIdOf(res),
          ...loggedCallerId(req),
          method: req.method,
          path: pathOf(target).slice(0, 512),
          operationId,
          status,
          durationMs: Math.round(durationMs * 100) / 100,
        },
        'request',
      );
    });
  };
}

function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? target : target.slice(0, mark);
}
