import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RISK_FACTORS } from '@quartermaster/contracts/runtime-observations.ts';
import { DERIVED_TABLES, TABLE_NAMES } from '@quartermaster/db/stored-tables.ts';
import { expect, test } from 'vitest';
import { createMetrics } from '../src/platform/metrics.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const API = join(ROOT, 'apps/api/src');

const PAGES = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT });

test.each(PAGES)('%s names only files and folders that exist', (page) => {
  const paths = codeIn(page).filter((code) => /^(apps|packages)\/[^\s<>]+$/.test(code));
  expect(paths.filter((path) => !exists(path))).toEqual([]);
});

test.each(PAGES)('%s links only to pages and headings that exist', (page) => {
  const broken = linksIn(page).filter(({ target, heading }) => {
    if (!existsSync(join(ROOT, target))) return true;
    return heading !== '' && !headingsIn(target).includes(heading);
  });
  expect(broken).toEqual([]);
});

test('docs/architecture.md names only files and folders of apps/api/src that exist, also in its diagram', () => {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
  const files = [...page.matchAll(/(?<![\w./-])[\w-]+(?:\/[\w-]+)+\.ts\b/g)].map(([path]) => path);
  const folders = codeIn('docs/architecture.md').filter((code) => /^[\w-]+\/$/.test(code));
  const paths = [...files, ...folders].filter((path) => !/^(apps|packages)\//.test(path));
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.filter((path) => !exists(join('apps/api/src', path)))).toEqual([]);
});

test('docs/governance.md describes the risk factors as the contract does', () => {
  const rows = Object.entries(RISK_FACTORS).map(([factor, text]) => `| \`${factor}\` | ${text.replace(': ', ' | ')} |`);
  expect(readFileSync(join(ROOT, 'docs/governance.md'), 'utf8')).toContain(rows.join('\n'));
});

test('docs/console.md names every screen of the navigation with its key', () => {
  const navigation = readFileSync(join(ROOT, 'apps/console/src/app/navigation.ts'), 'utf8');
  const entries = [...navigation.matchAll(/label: '([^']+)',.*\bkey: '(.)'/g)];
  expect(entries.length).toBeGreaterThan(10);
  const rows = readFileSync(join(ROOT, 'docs/console.md'), 'utf8').split('\n');
  const isNamed = (label: string, key: string) =>
    rows.some((row) => row.includes(label) && row.includes(`\`g ${key}\``));
  expect(entries.filter(([, label = '', key = '']) => !isNamed(label, key)).map(([text]) => text)).toEqual([]);
});

test('docs/scaling.md says of every table whether it is distributed', () => {
  const codes = codeIn('docs/scaling.md');
  expect([...TABLE_NAMES, ...DERIVED_TABLES].filter((table) => !codes.includes(table))).toEqual([]);
});

test('docs/debugging.md lists every metric of the service, and no other', () => {
  const metrics = createMetrics().registry.getMetricsAsArray();
  const names = metrics.map(({ name }) => name).filter((name) => name.startsWith('quartermaster_'));
  const listed = codeIn('docs/debugging.md').filter((code) => code.startsWith('quartermaster_'));
  expect([...new Set(listed)].toSorted()).toEqual(names.toSorted());
});

test('code that may run in a transaction uses `together` in the place of Promise.all, which ends while its parts go on', () => {
  const files = globSync(
    ['packages/db/src/{,repositories/}*.ts', 'apps/api/src/{governance,resources,telemetry}/**/*.ts'],
    {
      cwd: ROOT,
    },
  );
  expect(files.length).toBeGreaterThan(300);
  const using = files.filter((file) => /Promise\.all\(/.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(using.toSorted()).toEqual([
    // It waits for the ids of observations, outside of transactions.
    'apps/api/src/resources/gateway-decisions/authzen.ts',
    // It waits for the ends of syncs, when the service stops.
    'apps/api/src/resources/inventory-sync/schedule.ts',
  ]);
});

test.each([1, 2])('folders of apps/api/src do not import each other in a circle, down to level %i', (depth) => {
  const files = globSync('**/*.ts', { cwd: API });
  expect(files.length).toBeGreaterThan(300);
  const folderOf = (file: string) => file.split('/').slice(0, -1).slice(0, depth).join('/') || file;
  let arrows = files.flatMap((file) =>
    importsOf(file).map((imported) => ({ from: folderOf(file), to: folderOf(imported), file, imported })),
  );
  arrows = arrows.filter(({ from, to }) => from !== to);
  // A folder that imports none of the others left, or that none of them imports, is in no circle.
  for (let before = 0; before !== arrows.length; ) {
    before = arrows.length;
    const [importing, imported] = [new Set(arrows.map(({ from }) => from)), new Set(arrows.map(({ to }) => to))];
    arrows = arrows.filter(({ from, to }) => importing.has(to) && imported.has(from));
  }
  expect(arrows.map(({ file, imported }) => `${file} imports ${imported}`)).toEqual([]);
});

/** The files of apps/api/src that one of them imports, also for types alone. */
function importsOf(file: string): string[] {
  const specifiers = readFileSync(join(API, file), 'utf8').matchAll(/(?:from |import\(|new URL\()'(\.[^']+\.ts)'/g);
  return [...specifiers].map(([, path = '']) => join(dirname(file), path));
}

/** Each text in backticks of a page, outside of code blocks. */
function codeIn(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```.*?^```$/gms, '');
  return [...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code ?? []);
}

/** The links of a page to files of the repository, with the heading after the `#`. */
function linksIn(page: string): { target: string; heading: string }[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const links = [...text.matchAll(/\]\((?!https?:)([^)\s#]*)#?([^)\s]*)\)/g)];
  return links.map(([, path = '', heading = '']) => ({
    target: path === '' ? page : join(dirname(page), path),
    heading,
  }));
}

/** The anchors that GitHub gives the headings of a page. */
function headingsIn(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```.*?^```$/gms, '');
  const explicit = [...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id);
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
  return [...headings, ...explicit];
}

/** Whether a path exists, or one that matches it if it has wildcards. */
function exists(path: string): boolean {
  return globSync(path, { cwd: ROOT }).length > 0;
}
