import pino, { type Logger } from 'pino';

/** The level of lines about requests. */
const INFO = 30;

/** A caller that closed the connection early is no failed request. */
const CLOSED_BY_CALLER = 499;

/**
 * The log on a terminal: warnings, errors and failed requests, so that the lines that say what to do next stay in view. A person
 * who sets QM_LOG_LEVEL gets every line of that level.
 */
export function terminalLog(destination?: pino.DestinationStream): Logger {
  const options: pino.LoggerOptions = {
    level: 'info',
    hooks: {
      logMethod(args, method, level) {
        if (level > INFO || isFailedRequest(args[0])) method.apply(this, args);
      },
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

function isFailedRequest(fields: unknown): boolean {
  if (typeof fields !== 'object' || fields === null || !('status' in fields)) return false;
  const { status } = fields;
  return typeof status === 'number' && status >= 400 && status !== CLOSED_BY_CALLER && !isWaitingPage(fields, status);
}

/** The page that a browser loads again and again until the console is built. */
function isWaitingPage(fields: object, status: number): boolean {
  if (status !== 503 || !('path' in fields) || typeof fields.path !== 'string') return false;
  return /\/console(\/|$)(?!sign-in|callback)/.test(fields.path);
}
