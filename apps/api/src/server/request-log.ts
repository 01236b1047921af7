import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '../auth/principal.ts';
import { callerFields, callerIdFields, statusFields, timeFields } from '../http/log-fields.ts';
import { withoutCredentials } from '../platform/credentials-in-text.ts';
import { requestIdOf } from '../platform/request-id.ts';
import type { Services } from '../platform/services.ts';

/** The operation of a response, for the log line and the metrics. */
const OPERATION = Symbol('operation');

/** The caller of a response, for the log line. */
const CALLER = Symbol('caller');

/** Whether a request asks for a decision. */
const DECISION = Symbol('decision');

/** How long the request of a response waited, for the log line and the metrics. */
const WAITED = Symbol('waited');

type Logged = ServerResponse & {
  [OPERATION]?: string;
  [CALLER]?: Principal;
  [DECISION]?: true;
  [WAITED]?: number;
};

/** Notes which operation a request is, for its log line. */
export function noteOperation(res: ServerResponse, operationId: string | undefined): void {
  if (operationId !== undefined) (res as Logged)[OPERATION] = operationId;
}

/** Notes who sent a request, for its log line. */
export function noteCaller(res: ServerResponse, principal: Principal | null): void {
  if (principal !== null) (res as Logged)[CALLER] = principal;
}

/** Notes that a request asks for a decision. Decisions are counted, so their log line is of the level debug. */
export function noteDecision(res: ServerResponse): void {
  (res as Logged)[DECISION] = true;
}

/** Notes that a request waited because its tenant was slowed down. In milliseconds. It may wait several times. */
export function noteWait(res: ServerResponse, ms: number): void {
  (res as Logged)[WAITED] = ((res as Logged)[WAITED] ?? 0) + ms;
}

/**
 * Writes one log line for each request, without headers, query and body, which may contain secrets.
 *
 * @param addressOf the client's address. Logged if the credential was refused or a rate limit is exceeded
 */
export function requestLog(
  { log, metrics }: Pick<Services, 'log' | 'metrics'>,
  addressOf: (req: IncomingMessage) => string,
) {
  // Cached, because a look-up by labels costs more than counting.
  const timers = new Map<string, ReturnType<typeof metrics.requests.labels>>();
  const timerOf = (operationId: string, status: number) => {
    const name = `${operationId} ${status}`;
    const kept = timers.get(name);
    if (kept) return kept;
    const timer = metrics.requests.labels({ operation: operationId, status });
    timers.set(name, timer);
    // The series begins with 0.
    metrics.waits.inc({ operation: operationId }, 0);
    return timer;
  };
  return (req: IncomingMessage, res: ServerResponse): void => {
    const start = performance.now();
    // A closed connection has no address.
    const address = addressOf(req);
    // Read now: Express changes `url` while a mounted part of the service handles the request.
    const target = req.url ?? '';
    res.on('close', () => {
      const durationMs = performance.now() - start;
      const operationId = (res as Logged)[OPERATION];
      const status = res.writableFinished ? res.statusCode : 499;
      const waitedMs = (res as Logged)[WAITED] ?? 0;
      if (operationId !== undefined) {
        timerOf(operationId, status).observe(durationMs / 1000);
        if (waitedMs > 0) metrics.waits.inc({ operation: operationId }, waitedMs / 1000);
      }
      const isCounted = (res as Logged)[DECISION] === true && (status < 400 || status === 403);
      const level = isCounted ? 'debug' : 'info';
      if (!log.isLevelEnabled(level)) return;
      log[level](
        {
          requestId: requestIdOf(res),
          ...callerIdFields(req),
          method: req.method,
          path: loggedPath(target),
          operationId,
          ...callerFields((res as Logged)[CALLER] ?? null),
          ...statusFields(status, address),
          ...timeFields({ durationMs, waitedMs }),
        },
        'request',
      );
    });
  };
}

function loggedPath(target: string): string {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  return withoutCredentials(path).slice(0, 512);
}
