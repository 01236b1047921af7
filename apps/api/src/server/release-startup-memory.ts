import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects the garbage of loading the modules, and returns its memory to the system. Otherwise V8 keeps it in the space for
 * young objects, which shrinks only if the process runs out of memory or is idle for long. Call it before serving requests,
 * because it blocks for some tens of milliseconds.
 *
 * Measured with Node 24 on an empty database: 121 MB at rest with this call, 165 MB without it. The agreed limit is 150 MB.
 */
export function releaseStartupMemory(): void {
  // Only a context that is created while the flag is set has the function `gc`.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
