import { readOwnUrl } from '../config.ts';
import { installation } from '../installation.ts';
import { type Invocation, runCommand } from './run-command.ts';

const usage = `${installation.commandLine('healthcheck')}

Asks the server on this machine, at HOST and PORT, whether it is ready. For HEALTHCHECK of a container, and for supervisors.`;

/** Less than the timeout of a container's health check, in milliseconds. */
const TIMEOUT_MS = 4000;

/** Asks the server on this machine whether it is ready. @returns the exit code: 0 if it is */
export function runHealthcheck(invocation: Invocation): Promise<number> {
  const { environment, stdout, stderr } = invocation;
  const run = async () => {
    const url = `${readOwnUrl(environment)}/readyz`;
    try {
      const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      (ok ? stdout : stderr).write(ok ? 'ready\n' : `not ready: ${url} answers ${status}\n`);
      return ok ? 0 : 1;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      stderr.write(`not ready: ${url} does not answer: ${cause instanceof Error ? cause.message : String(cause)}\n`);
      return 1;
    }
  };
  return runCommand({ usage, options: [], run }, invocation);
}
