import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { temporaryFolder } from '@quartermaster/db/testing/temporary-folder.ts';
import { publint } from 'publint';
import { type Library, LIBRARIES, programOf } from './compatibility-libraries.ts';

// Publishes the packages to a registry on this machine, installs them into empty projects, uses them in each environment, and writes
// the table into docs/releasing.md: `npm run compatibility`. It downloads about 1 GB, so no test runs it.

const ROOT = join(import.meta.dirname, '../..');
const BINARIES = join(ROOT, 'node_modules/.bin');
const ATTW = join(import.meta.dirname, 'node_modules/.bin/attw');
const PAGE = join(ROOT, 'docs/releasing.md');
const [BEGIN, END] = ['<!-- compatibility: npm run compatibility -->', '<!-- /compatibility -->'];

const NODES = ['20.20.2', '22.23.5', '24.21.0'];
const TOOLS = { bun: '1.4.5', deno: '2.9.6', vite: '8.3.8', webpack: '5.112.2', next: '16.4.6', react: '19.3.1' };
const VERDACCIO = '6.8.0';

/** How a cell of the table failed: what the tool wrote. */
type Outcome = { works: true; note?: string } | { works: false; reason: string };

type Environment = {
  name: string;
  /** Packages of the registry that the project needs beside ours. */
  needs?: Record<string, string>;
  /** Uses a library in a project in which it is installed. @returns what the program printed */
  use: (library: Library, project: string) => Promise<string>;
};

const execute = promisify(execFile);
const folder = await temporaryFolder('quartermaster-compatibility-');
const registry = await startRegistry();
try {
  const tarballs = await publishAll();
  const environments = await allEnvironments();
  const rows = [
    await row('publint, attw', (library) => checkTarball(library, tarballs.get(library.name) ?? '')),
    await row('types, `skipLibCheck` off', checkTypes),
  ];
  for (const environment of environments)
    rows.push(await row(environment.name, (library) => tryIn(environment, library)));
  await writeTable(rows);
} finally {
  registry.process.kill();
  await rm(folder, { recursive: true, force: true });
}

type Row = { name: string; outcomes: Outcome[] };

async function row(name: string, check: (library: Library) => Promise<Outcome>): Promise<Row> {
  const outcomes: Outcome[] = [];
  for (const library of LIBRARIES) {
    const outcome = await check(library).catch((error: unknown): Outcome => ({ works: false, reason: textOf(error) }));
    process.stdout.write(`${name}: ${library.name}: ${outcome.works ? (outcome.note ?? 'works') : outcome.reason}\n`);
    outcomes.push(outcome);
  }
  return { name, outcomes };
}

async function allEnvironments(): Promise<Environment[]> {
  const environments: Environment[] = [];
  for (const version of NODES) {
    const node = await installNode(version);
    for (const format of ['mjs', 'cjs'] as const) {
      const title = format === 'mjs' ? 'ES modules' : 'CommonJS, by `require`';
      environments.push({
        name: `Node ${version}, ${title}`,
        use: async (library, project) => {
          await writeFile(join(project, `program.${format}`), programOf(library, format));
          return run(node, [`program.${format}`], project);
        },
      });
    }
  }
  const inRuntime = (name: 'bun' | 'deno', args: readonly string[]): Environment => ({
    name: `${name === 'bun' ? 'Bun' : 'Deno'} ${TOOLS[name]}`,
    needs: { [name]: TOOLS[name] },
    use: async (library, project) => {
      await writeFile(join(project, 'program.mjs'), programOf(library, 'mjs'));
      return run(join(project, 'node_modules/.bin', name), [...args, 'program.mjs'], project);
    },
  });
  const inBundler = (name: 'vite' | 'webpack', config: (library: Library) => string): Environment => ({
    name: `${name === 'vite' ? 'Vite' : 'webpack'} ${TOOLS[name]}`,
    needs: { [name]: TOOLS[name] },
    use: async (library, project) => {
      await writeFile(join(project, 'program.mjs'), programOf(library, 'mjs'));
      await writeFile(join(project, 'bundle.mjs'), config(library));
      await run(process.execPath, ['bundle.mjs'], project);
      // Away from the packages, so that only what is in the bundle can run.
      const bundle = join(folder, `bundle-${name}-${library.name}`);
      await rename(join(project, 'out'), bundle);
      return run(process.execPath, ['program.mjs'], bundle);
    },
  });
  return [
    ...environments,
    inRuntime('bun', ['run']),
    inRuntime('deno', ['run', '--node-modules-dir=manual', '--allow-env', '--allow-read', '--allow-sys']),
    inBundler('vite', viteConfig),
    inBundler('webpack', webpackConfig),
    {
      name: `Next.js ${TOOLS.next}`,
      needs: { next: TOOLS.next, react: TOOLS.react, 'react-dom': TOOLS.react },
      use: useInNext,
    },
  ];
}

function viteConfig({ isForBrowsers }: Library): string {
  const build = isForBrowsers
    ? `lib: { entry: 'program.mjs', formats: ['es'], fileName: () => 'program.mjs' }`
    : `ssr: 'program.mjs', rollupOptions: { output: { entryFileNames: 'program.mjs' } }`;
  return `
    import { build } from 'vite';
    const ssr = { noExternal: true, target: 'node' };
    await build({ configFile: false, logLevel: 'error', ssr, build: { outDir: 'out', minify: true, ${build} } });
  `;
}

function webpackConfig({ isForBrowsers }: Library): string {
  return `
    import webpack from 'webpack';
    const output = { path: process.cwd() + '/out', filename: 'program.mjs', module: true, chunkFormat: 'module' };
    const target = '${isForBrowsers ? 'web' : 'node'}';
    const experiments = { outputModule: true };
    webpack({ mode: 'production', entry: './program.mjs', target, output, experiments, performance: false }, (error, stats) => {
      if (error || stats.hasErrors()) {
        console.error(error ?? stats.toString('errors-only'));
        process.exit(1);
      }
    });
  `;
}

/** The page calls the library while it is built, and those for browsers are in the code of a client component, too. */
async function useInNext(library: Library, project: string): Promise<string> {
  const app = join(project, 'app');
  await mkdir(app);
  const page = (use: string) =>
    `export default async function Page() { return <main>{'RESULT(' + (${use}) + ')'}</main>; }`;
  await writeFile(join(app, 'layout.js'), 'export default ({ children }) => <html><body>{children}</body></html>;');
  await writeFile(join(app, 'use.js'), programOf(library, 'module'));
  await writeFile(join(app, 'page.js'), `import { use } from './use.js';\n${page('await use()')}`);
  if (library.isForBrowsers) {
    const button = `'use client';\nimport { use } from './use.js';\nexport const Button = () => <button onClick={use}>use</button>;`;
    await writeFile(join(app, 'button.js'), button);
    await mkdir(join(app, 'client'));
    const client = `import { Button } from '../button.js';\nexport default () => <Button />;`;
    await writeFile(join(app, 'client/page.js'), client);
  }
  await run(join(project, 'node_modules/.bin/next'), ['build'], project);
  const html = await readFile(join(project, '.next/server/app/index.html'), 'utf8');
  return /RESULT\((.*?)\)/.exec(html)?.[1]?.replaceAll('&quot;', '"') ?? 'nothing';
}

async function tryIn({ needs = {}, use }: Environment, library: Library): Promise<Outcome> {
  const printed = (await use(library, await installed(library, needs))).trim();
  return printed === library.expected ? { works: true } : { works: false, reason: `it printed ${printed}` };
}

async function checkTarball({ entries }: Library, tarball: string): Promise<Outcome> {
  const { messages } = await publint({
    pack: { tarball: new Uint8Array(await readFile(tarball)).buffer },
    strict: true,
  });
  if (messages.length > 0) return { works: false, reason: JSON.stringify(messages) };
  await run(ATTW, [tarball, '--profile', 'esm-only', '--no-color', '--entrypoints', ...entries], folder);
  return { works: true };
}

/** Compiles the examples of the README, strictly and with a check of all declarations, for Node and for bundlers. */
async function checkTypes(library: Library): Promise<Outcome> {
  const project = await installed(library, { '@types/node': '24.10.1' });
  const readme = await readFile(join(ROOT, 'packages', library.name, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, example = '']) => example);
  const files = examples.map((_, index) => `example-${index + 1}.ts`);
  for (const [index, file] of files.entries()) await writeFile(join(project, file), examples[index] ?? '');
  const settings = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2024', '--pretty', 'false'];
  const libraries = ['--lib', 'es2024,dom,dom.iterable', '--types', library.isForBrowsers ? '' : 'node'];
  const foreign = new Set<string>();
  for (const module of ['nodenext', 'preserve']) {
    const args = [...settings, ...libraries, '--module', module, ...files];
    const output = await run(join(BINARIES, 'tsc'), args, project).catch(textOf);
    for (const [, file = ''] of output.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)) {
      const owner = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
      if (owner === undefined || owner.startsWith('@quartermaster/')) return { works: false, reason: output };
      foreign.add(owner);
    }
  }
  if (foreign.size === 0) return { works: true };
  return {
    works: true,
    note: `errors in declarations of ${[...foreign].map((name) => `\`${name}\``).join(', ')} alone`,
  };
}

/** A project with a library and what it needs, from the local registry. Environments with the same needs share it. */
async function installed({ name, peers = {} }: Library, needs: Record<string, string>): Promise<string> {
  const project = join(folder, [name, ...Object.keys(needs)].join('-').replaceAll(/[@/]/g, ''));
  if (existsSync(project)) return project;
  await mkdir(project);
  const dependencies = { [`@quartermaster/${name}`]: '*', ...peers, ...needs };
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module', dependencies }),
  );
  await npm(['install', '--no-audit', '--no-fund', '--registry', registry.url], project);
  return project;
}

async function installNode(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const target = join(folder, `node-${version}`);
  await mkdir(target);
  await npm(['install', '--no-save', '--no-audit', '--no-fund', '--prefix', target, `${name}@${version}`], target);
  return join(target, 'node_modules', name, 'bin/node');
}

/** A registry that has our packages, and passes the others through. */
async function startRegistry(): Promise<{ url: string; process: ChildProcess }> {
  const home = join(folder, 'registry');
  await mkdir(home);
  // Its dependency on node-fetch names a version that npm does not find.
  const manifest = { private: true, dependencies: { verdaccio: VERDACCIO }, overrides: { 'node-fetch': '2.7.0' } };
  await writeFile(join(home, 'package.json'), JSON.stringify(manifest));
  await npm(['install', '--no-audit', '--no-fund'], home);
  const upstream = (await npm(['config', 'get', 'registry'], home)).trim();
  const config = {
    storage: join(home, 'storage'),
    uplinks: { npm: { url: upstream } },
    packages: {
      '@quartermaster/*': { access: '$all', publish: '$all' },
      '**': { access: '$all', proxy: 'npm' },
    },
    log: { type: 'stdout', level: 'warn' },
  };
  // JSON is YAML.
  await writeFile(join(home, 'config.yaml'), JSON.stringify(config));
  const port = await freePort();
  const program = join(home, 'node_modules/.bin/verdaccio');
  const listen = ['--config', join(home, 'config.yaml'), '--listen', `127.0.0.1:${port}`];
  const child = spawn(process.execPath, [program, ...listen], { cwd: home, stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}/`;
  while (!(await fetch(`${url}-/ping`).catch(() => null))?.ok) {
    if (child.exitCode !== null) throw new Error('the registry ended');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { url, process: child };
}

async function publishAll(): Promise<Map<string, string>> {
  const tarballs = new Map<string, string>();
  const token = `--${registry.url.slice('http:'.length)}:_authToken=none`;
  for (const { name } of LIBRARIES) {
    const args = ['pack', '--json', '--pack-destination', folder];
    const stdout = await run(join(BINARIES, 'pnpm'), args, join(ROOT, 'packages', name));
    const { filename } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as { filename: string };
    await npm(['publish', filename, '--registry', registry.url, '--provenance=false', token], folder);
    tarballs.set(name, filename);
  }
  return tarballs;
}

function npm(args: readonly string[], cwd: string): Promise<string> {
  return run('npm', args, cwd);
}

async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`;
  const env = { ...process.env, PATH, CI: '1', NEXT_TELEMETRY_DISABLED: '1' };
  const { stdout } = await execute(program, [...args], { cwd, env, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/** What a program wrote: compilers write errors to standard output. */
function textOf(error: unknown): string {
  const { stdout = '', stderr = '', message = '' } = error as { stdout?: string; stderr?: string; message?: string };
  return `${stdout}${stderr}`.trim() || message;
}

async function writeTable(rows: readonly Row[]): Promise<void> {
  const notes: string[] = [];
  const cell = (outcome: Outcome) => {
    if (outcome.works && outcome.note === undefined) return 'yes';
    const note = outcome.works ? (outcome.note ?? '') : (outcome.reason.split('\n')[0] ?? '').slice(0, 200);
    if (!notes.includes(note)) notes.push(note);
    return `${outcome.works ? 'yes' : 'no'} (${notes.indexOf(note) + 1})`;
  };
  const lines = rows.map(({ name, outcomes }) => `| ${[name, ...outcomes.map(cell)].join(' | ')} |`);
  const head = ['', ...LIBRARIES.map(({ name }) => `\`${name}\``)];
  const table = [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines];
  const explained = notes.map((note, index) => `${index + 1}. ${note}`);
  const text = [BEGIN, ...table, ...(notes.length > 0 ? ['', ...explained] : []), END].join('\n');
  const page = await readFile(PAGE, 'utf8');
  const before = page.slice(0, page.indexOf(BEGIN));
  const after = page.slice(page.indexOf(END) + END.length);
  await writeFile(PAGE, before + text + after);
}
