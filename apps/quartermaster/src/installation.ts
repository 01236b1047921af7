import { join } from 'node:path';
import type { Installation } from '@quartermaster/api/src/installation.ts';

/** The folder of the package, seen from its `lib` folder, in which the bundle is. */
const PACKAGE = join(import.meta.dirname, '..');

/** `npx` runs a file in `node_modules`. A global installation and the image have the command in the path. */
const COMMAND = process.argv[1]?.includes('node_modules') ? 'npx quartermaster' : 'quartermaster';

/** The installation of the npm package. The build puts it in the place of `apps/api/src/installation.ts`. */
export const installation: Installation = {
  root: process.cwd(),
  dataFolder: 'quartermaster-data',
  commandLine: (name) => `${COMMAND} ${name}`,
  folderOf: (dependency) => join(PACKAGE, 'vendor', dependency),
  console: { folder: join(PACKAGE, 'console'), build: null },
  seedProgram: [process.execPath, join(PACKAGE, 'lib/quartermaster.js'), 'seed'],
};
