import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** The global set-up of the suite: the server under test serves the console as it is built. */
export default function setup(): void {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, '../build.ts')], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the console could not be built');
}
