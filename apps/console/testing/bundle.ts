import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const DIST = join(import.meta.dirname, '../dist');

/** The screen that an address without a path opens. */
const HOME = 'src/screens/inbox/inbox-screen.tsx';

/** Loaded only where a manifest is written, and larger than any screen. */
const EDITOR = 'src/screens/manifests/json-editor.tsx';

type Chunk = {
  file: string;
  isEntry?: boolean;
  isDynamicEntry?: boolean;
  imports?: string[];
  css?: string[];
};

type Manifest = Record<string, Chunk>;

/** Bytes of JavaScript and CSS, compressed by brotli as the server sends them. */
export type BundleSizes = {
  /** The application and the inbox. */
  firstScreen: number;
  /** What each part adds that is loaded later: a screen, or a part of one. By its source file. */
  later: { source: string; bytes: number; isEditor: boolean }[];
};

/** The sizes of the built console. */
export function bundleSizes(): BundleSizes {
  const manifest = JSON.parse(readFileSync(join(DIST, '.vite/manifest.json'), 'utf8')) as Manifest;
  const entries = Object.keys(manifest).filter((key) => manifest[key]?.isEntry === true);
  if (entries.length === 0) throw new Error('the build has no entry');
  const first = filesOf(manifest, [...entries, HOME]);
  const later = Object.keys(manifest)
    .filter((key) => manifest[key]?.isDynamicEntry === true && key !== HOME)
    .map((source) => {
      const added = [...filesOf(manifest, [source])].filter((file) => !first.has(file));
      return { source, bytes: sumOfSizes(added), isEditor: source === EDITOR };
    });
  return { firstScreen: sumOfSizes([...first]), later: later.toSorted((a, b) => b.bytes - a.bytes) };
}

/** @param files relative to the folder of the build */
function sumOfSizes(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + statSync(join(DIST, `${file}.br`)).size, 0);
}

/** The files that a browser loads for these sources. */
function filesOf(manifest: Manifest, sources: readonly string[]): Set<string> {
  const files = new Set<string>();
  const seen = new Set<string>();
  const add = (key: string) => {
    const chunk = manifest[key];
    if (chunk === undefined) throw new Error(`the build has no ${key}`);
    if (seen.has(key)) return;
    seen.add(key);
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) add(imported);
  };
  for (const source of sources) add(source);
  return files;
}
