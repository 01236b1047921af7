import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The programs that an operator runs, by the names that they have in the npm package. */
type CommandName =
  | 'admin-key'
  | 'backup'
  | 'dev'
  | 'dev-token'
  | 'doctor'
  | 'healthcheck'
  | 'migrate'
  | 'remove-development-users'
  | 'seed'
  | 'serve';

/** What differs between a git checkout and the npm package. The build of the package has another file in the place of this one. */
export type Installation = {
  /** Relative paths in the configuration are relative to this folder. */
  root: string;
  /** The default of QM_DATA_DIR. */
  dataFolder: string;
  /** The beginning of the command line that runs a program, as messages print it. */
  commandLine: (name: CommandName) => string;
  /** The folder of an installed npm package whose files are read while the service runs. */
  folderOf: (dependency: '@pydantic/genai-prices' | 'swagger-ui-dist') => string;
  /** The web console, and the program that builds it. Null if the package contains a built one. */
  console: { folder: string; build: string | null };
  /** Starts the seed as a child process: a program and its first arguments. */
  seedProgram: readonly [string, ...string[]];
};

const ROOT = resolve(import.meta.dirname, '../../..');

/** The npm scripts of the root. `--` separates the options of npm from those of the program. */
const SCRIPTS: Record<CommandName, string> = {
  'admin-key': 'npm run --silent admin-key',
  backup: 'npm run backup --',
  dev: 'npm start',
  'dev-token': 'npm run --silent dev-token',
  doctor: 'npm run --silent doctor --',
  healthcheck: 'npm run healthcheck',
  migrate: 'npm run migrate-database --',
  'remove-development-users': 'npm run remove-development-users',
  seed: 'npm run seed --',
  serve: 'npm run serve',
};

/** Installs the packages of the seed and runs it. The arguments are Node, the installer, the program and its options. */
const INSTALL_AND_SEED = '"$0" "$1" examples && shift && exec "$0" "$@"';

/** The installation of a git checkout. */
export const installation: Installation = {
  root: ROOT,
  dataFolder: 'data',
  commandLine: (name) => SCRIPTS[name],
  folderOf: folderOfPackage,
  console: { folder: join(ROOT, 'apps/console/dist'), build: join(ROOT, 'apps/console/build.ts') },
  seedProgram: [
    'sh',
    '-c',
    INSTALL_AND_SEED,
    process.execPath,
    join(ROOT, 'scripts/install.js'),
    join(ROOT, 'apps/seed/src/main.ts'),
  ],
};

/** Its `exports` may hide the manifest, so this looks for the folder in which its entry is. */
function folderOfPackage(name: string): string {
  const entry = fileURLToPath(import.meta.resolve(name));
  const folder = join('node_modules', name);
  return join(entry.slice(0, entry.lastIndexOf(folder)), folder);
}
