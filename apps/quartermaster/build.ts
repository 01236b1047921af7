import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build, type Metafile, type Plugin } from 'esbuild';

// Builds the npm package to `dist`: `node apps/quartermaster/build.ts`. The console has to be built (`npm run build`).

const ROOT = join(import.meta.dirname, '../..');
const API = join(ROOT, 'apps/api');
const DB = join(ROOT, 'packages/db');
const DIST = join(import.meta.dirname, 'dist');
const CONSOLE = join(ROOT, 'apps/console/dist');

/** The package for Node that has native code. It cannot be bundled. */
const NATIVE = 'better-sqlite3';

/** Files that start a thread by the URL of its module, and the modules. The bundle has each as a file beside its own. */
const THREADS = [
  { starter: join(API, 'src/telemetry/ingest/prepare-large.ts'), url: './prepare-thread.ts' },
  { starter: join(API, 'src/resources/inventory-sync/ask-thread.ts'), url: './answer-thread.ts' },
  { starter: join(DB, 'src/dialects/sqlite-checkpoints.ts'), url: 'sqlite-checkpoint-thread.ts' },
];

/** The software bill of materials of the package, in the format CycloneDX, and of its two parts. */
const SBOM = join(DIST, 'sbom.cdx.json');
const BILLS = { server: join(DIST, 'server.cdx.json'), console: join(DIST, 'console.cdx.json') };

/** Files of npm packages that the service reads while it runs. */
const VENDOR = [
  { name: '@pydantic/genai-prices', files: ['package.json'] },
  {
    name: 'swagger-ui-dist',
    files: ['package.json', 'LICENSE', 'NOTICE', 'swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'],
  },
];

type Manifest = { name: string; version: string; license?: string; dependencies: Record<string, string> };

await rm(DIST, { recursive: true, force: true });
buildConsole();
const metafiles = [await bundle(), await bundleConsole()];
await copyFiles();
await writeManifest();
const folders = foldersOfDependencies(metafiles);
await writeBillOfMaterials(await Promise.all(folders.map(readJson)));
await writeLicenses(folders);
const folder = relative(process.cwd(), DIST);
process.stdout.write(`The package is in ${folder}. To run it: npx ./${folder}. To pack it: npm pack ./${folder}\n`);

function buildConsole(): void {
  const { status } = spawnSync(process.execPath, [join(ROOT, 'apps/console/build.ts')], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the console could not be built');
}

async function bundle(): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [
      join(import.meta.dirname, 'src/quartermaster.ts'),
      ...THREADS.map(({ starter, url }) => resolve(starter, '..', url)),
    ],
    absWorkingDir: ROOT,
    outdir: join(DIST, 'lib'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.20',
    // jsonc-parser has a CommonJS build that bundlers cannot read.
    mainFields: ['module', 'main'],
    external: [NATIVE, 'pg-native'],
    entryNames: '[name]',
    // Beside the entries, so that `import.meta.dirname` is the same folder everywhere.
    chunkNames: '[name]-[hash]',
    // CommonJS packages in the bundle load Node's modules by `require`.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);",
    },
    legalComments: 'none',
    // The package is half as large. Functions keep their names, for readable stack traces.
    minify: true,
    keepNames: true,
    metafile: true,
    logLevel: 'warning',
    plugins: [packagedInstallation(), threads(), billOfMaterials(BILLS.server)],
  });
  return metafile;
}

/** Only for its bill of materials: Vite builds the console that is served, from the same packages. */
async function bundleConsole(): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [join(CONSOLE, '../src/main.tsx')],
    absWorkingDir: ROOT,
    outdir: DIST,
    write: false,
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: '#visible',
    metafile: true,
    logLevel: 'error',
    plugins: [billOfMaterials(BILLS.console)],
  });
  return metafile;
}

function billOfMaterials(outputFile: string): Plugin {
  return cyclonedxEsbuildPlugin({ outputFile, specVersion: '1.6', outputReproducible: true, logLevel: 'silent' });
}

/** Puts the installation of the package in the place of that of the checkout. */
function packagedInstallation(): Plugin {
  const replaced = join(API, 'src/installation.ts');
  return {
    name: 'installation',
    setup: ({ onResolve }) => {
      onResolve({ filter: /\/installation\.ts$/ }, ({ path, resolveDir }) =>
        resolve(resolveDir, path) === replaced ? { path: join(import.meta.dirname, 'src/installation.ts') } : null,
      );
    },
  };
}

/** Lets threads start from the built files. */
function threads(): Plugin {
  return {
    name: 'threads',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const thread = THREADS.find(({ starter }) => starter === path);
        if (thread === undefined) return null;
        const source = await readFile(path, 'utf8');
        const call = `new URL('${thread.url}', import.meta.url)`;
        if (!source.includes(call)) throw new Error(`${relative(ROOT, path)} does not contain ${call}`);
        const built = thread.url.replace(/\.ts$/, '.js');
        return { contents: source.replace(call, `new URL('${built}', import.meta.url)`), loader: 'ts' };
      });
    },
  };
}

async function copyFiles(): Promise<void> {
  await cp(CONSOLE, join(DIST, 'console'), { recursive: true });
  await cp(join(API, 'src/server/favicon.ico'), join(DIST, 'lib/favicon.ico'));
  await cp(join(import.meta.dirname, 'README.md'), join(DIST, 'README.md'));
  await cp(join(ROOT, 'LICENSE'), join(DIST, 'LICENSE'));
  for (const { name, files } of VENDOR) {
    const folder = join(DIST, 'vendor', name);
    await mkdir(folder, { recursive: true });
    for (const file of files) await cp(join(API, 'node_modules', name, file), join(folder, file));
  }
}

/** The manifest without what only the build needs. */
async function writeManifest(): Promise<void> {
  const { scripts: _, devDependencies: __, publishConfig: ___, ...manifest } = await readJson(import.meta.dirname);
  const { version } = (await readJson(join(DB, 'node_modules', NATIVE))) as Manifest;
  // The bill of materials is published beside the package.
  const files = ['console', 'lib', 'vendor', 'THIRD-PARTY-LICENSES.txt'];
  const published = { ...manifest, files, dependencies: { [NATIVE]: version } };
  await writeFile(join(DIST, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

/** The folders of all npm packages whose code is in the package, or is installed with it. */
function foldersOfDependencies(metafiles: readonly Metafile[]): string[] {
  const bundled = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    ),
  );
  const native = realpathSync(join(DB, 'node_modules', NATIVE));
  const others = [native, join(native, '../node-addon-api'), join(API, 'node_modules/swagger-ui-dist')];
  const folders = bundled.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  return [...new Set([...folders.map((path) => resolve(ROOT, path)), ...others].map((path) => realpathSync(path)))];
}

type Component = { 'bom-ref': string; purl?: string; version?: string };
type Bill = {
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
};

/** Joins the bills of the server and the console, and adds what is installed with the package or copied into it. */
async function writeBillOfMaterials(manifests: readonly Manifest[]): Promise<void> {
  const bills = await Promise.all(
    Object.values(BILLS).map(async (path) => JSON.parse(await readFile(path, 'utf8')) as Bill),
  );
  const [bill] = bills;
  if (bill === undefined) throw new Error('there is no bill of materials');
  const known = new Map(
    bills.flatMap(({ components }) => components.map((component) => [nameOf(component), component])),
  );
  const components = manifests.map((manifest) => known.get(purlOf(manifest)) ?? componentOf(manifest));
  const refs = components.map((component) => component['bom-ref']).toSorted();
  // Code of this repository is between the package and its dependencies. Its structure says nothing about them.
  const dependencies = [{ ref: bill.metadata.component['bom-ref'], dependsOn: refs }];
  await writeFile(SBOM, `${JSON.stringify({ ...bill, components, dependencies })}\n`);
  for (const path of Object.values(BILLS)) await rm(path);
}

/** A package URL without qualifiers. */
function nameOf({ purl = '' }: Component): string {
  return purl.replace(/\?.*$/, '');
}

function purlOf({ name, version }: Manifest): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function componentOf(manifest: Manifest) {
  const { name, version, license = '' } = manifest;
  const [last = name, group] = name.split('/').toReversed();
  const purl = purlOf(manifest);
  const about = {
    ...(group !== undefined && { group }),
    name: last,
    version,
    licenses: [{ license: { id: license } }],
  };
  return { type: 'library', ...about, 'bom-ref': purl, purl };
}

/** The licenses of the packages whose code is in the bundle ask for their text to be passed on. */
async function writeLicenses(folders: readonly string[]): Promise<void> {
  const texts = folders.map(async (folder) => {
    const { name, version, license = 'unknown license' } = await readJson(folder);
    return `${name} ${version} (${license})\n\n${await licenseTextOf(folder)}`;
  });
  const sorted = (await Promise.all(texts)).toSorted();
  await writeFile(join(DIST, 'THIRD-PARTY-LICENSES.txt'), sorted.join(`\n\n${'-'.repeat(80)}\n\n`));
}

async function licenseTextOf(folder: string): Promise<string> {
  const files = (await readdir(folder)).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name)).toSorted();
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.map((text) => text.trim()).join('\n\n');
}

async function readJson(folder: string): Promise<Manifest & Record<string, unknown>> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest & Record<string, unknown>;
}
