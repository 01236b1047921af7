import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

/** The content codings that the build creates for every text file, the smallest result first. */
const CODINGS = [
  { coding: 'br', suffix: '.br' },
  { coding: 'gzip', suffix: '.gz' },
] as const;

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The bytes of a file in one content coding. */
type Coding = (typeof CODINGS)[number]['coding'] | 'identity';

/** A file that never changes under its name. `variants` has the smallest first, and always ends with `identity`. */
type ConsoleFile = { contentType: string; variants: Map<Coding, Buffer> };

export type ConsoleFiles = {
  /** The page, with the placeholder for the nonce. */
  page: string;
  /** By path relative to the console, such as `assets/index-B1c9.js`. */
  assets: ReadonlyMap<string, ConsoleFile>;
};

/** Reads a built console into memory, about 2 MB. @returns null if the folder has no build */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles | null> {
  const page = await readFile(join(folder, 'index.html'), 'utf8').catch(nullIfMissing);
  if (page === null) return null;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  const assets = new Map<string, ConsoleFile>();
  for (const path of paths) {
    const contentType = CONTENT_TYPES[extname(path)];
    if (contentType === undefined) continue;
    assets.set(path, { contentType, variants: await readVariants(join(folder, path), paths, path) });
  }
  return { page, assets };
}

async function readVariants(file: string, paths: readonly string[], path: string): Promise<Map<Coding, Buffer>> {
  const made = CODINGS.filter(({ suffix }) => paths.includes(path + suffix));
  const variants = new Map<Coding, Buffer>();
  for (const { coding, suffix } of made) variants.set(coding, await readFile(file + suffix));
  return variants.set('identity', await readFile(file));
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
