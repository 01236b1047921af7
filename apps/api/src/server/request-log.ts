import type { RequestHandler } from 'express';
import type { Services } from '../services.ts';

/** One log line a request: nothing of its headers, query and body, since secrets may stand there. */
export function requestLog({ log, metrics }: Services): RequestHandler {
  return (req, res, next) => {
    const start = performance.now();
    res.on('close', () => {
      const durationMs = performance.now() - start;
      const [path] = req.originalUrl.split('?');
      const { operationId } = res.locals as { operationId?: string };
      const status = res.writableFinished ? res.statusCode : 499;
      if (operationId !== undefined) {
        metrics.requests.observe({ operation: operationId, status }, durationMs / 1000);
      }
      log.info(
        {
          requestId: res.getHeader('X-Request-Id'),
          method: req.method,
          path: path?.slice(0, 512),
          operationId,
          status,
          durationMs: Math.round(durationMs * 100) / 100,
        },
        'request',
      );
    });
    next();
  };
}
