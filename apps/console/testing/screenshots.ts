import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argumentsOrExit, readArguments } from '@quartermaster/api/src/commands/read-arguments.ts';
import { readConfig, ROOT } from '@quartermaster/api/src/config.ts';
import { openConsole } from '@quartermaster/api/src/server/console/build.ts';
import { type RunningServer, startServer } from '@quartermaster/api/src/server/start.ts';
import { seed } from '@quartermaster/seed/seed.ts';
import type { Browser } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import buildConsole from './build.ts';

const USAGE = `npm run screenshots -- [--all]

Takes the two pictures of the README again, in docs/images. With --all it takes every screen instead, light and dark,
narrow and wide, into apps/console/reports/screenshots. The data are those of npm run seed.`;

type Shot = {
  name: string;
  path: string;
  /** Keys to press when the page is there. */
  keys?: string[];
};

type Look = { width: number; height: number; scheme: 'light' | 'dark' };

const README_LOOK: Look = { width: 1440, height: 900, scheme: 'light' };

const LOOKS: Look[] = [
  { width: 390, height: 844, scheme: 'light' },
  { width: 1024, height: 768, scheme: 'light' },
  { width: 1600, height: 900, scheme: 'light' },
  { width: 390, height: 844, scheme: 'dark' },
  { width: 1024, height: 768, scheme: 'dark' },
  { width: 1600, height: 900, scheme: 'dark' },
];

/** The screens that are taken without any record in them, too. */
const LISTS = [
  'inbox',
  'changes',
  'tasks',
  'agents',
  'map',
  'usage',
  'traces',
  'providers',
  'manifests',
  'gateways',
  'accounts',
  'audit',
];
const EMPTY_TENANT = 'screenshots-empty';

/** How long a page may go on drawing after its last request. */
const SETTLE_MS = 400;

const TENANT = 'tenant=northwind';

const README_SHOTS: Shot[] = [
  { name: 'console-inbox', path: `/inbox?${TENANT}`, keys: ['j', 'j'] },
  { name: 'console-map', path: `/map?${TENANT}` },
];

const values = argumentsOrExit(USAGE, (argv) =>
  readArguments(USAGE, { all: { type: 'boolean', default: false } }, argv),
);
// A server would show the page that asks for patience while it builds.
buildConsole();
const folder = await mkdtemp(join(tmpdir(), 'quartermaster-screenshots-'));
const server = await startServer(
  readConfig({
    PORT: '0',
    DATABASE_URL: `sqlite:${folder}/screenshots.db`,
    QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8,::1',
    QM_DEV_IDENTITY: '1',
    QM_LOG_LEVEL: 'warn',
    QM_METRICS_PORT: 'off',
    QM_OTLP_GRPC_PORT: 'off',
    QM_RATE_LIMITS: 'off',
    QM_SHUTDOWN_DELAY_MS: '0',
  }),
  { openConsole },
);
const browser = await launchBrowser();
try {
  await seed({ url: server.url, credential: { key: server.bootstrapKey ?? '' } });
  if (values.all) {
    const target = join(ROOT, 'apps/console/reports/screenshots');
    const shots = await allShots(server);
    for (const look of LOOKS) await takeShots(shots, look, target);
  } else {
    await takeShots(README_SHOTS, README_LOOK, join(ROOT, 'docs/images'));
  }
} finally {
  await browser.close();
  await server.stop();
  await rm(folder, { recursive: true });
}

async function takeShots(shots: readonly Shot[], look: Look, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  const page = await signedInPage(browser, look);
  for (const { name, path, keys = [] } of shots) {
    await page.goto(`${server.url}/console${path}`);
    await page.waitForLoadState('networkidle');
    for (const key of keys) await page.keyboard.press(key);
    await page.waitForLoadState('networkidle');
    await page.waitForTimeout(SETTLE_MS);
    const suffix = values.all ? `-${look.width}-${look.scheme}` : '';
    const file = join(target, `${name}${suffix}.png`);
    await page.screenshot({ path: file });
    process.stdout.write(`${file}\n`);
  }
  await page.context().close();
}

async function signedInPage(from: Browser, { width, height, scheme }: Look) {
  const context = await from.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    locale: 'en-US',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(server.devSignIn?.link ?? '');
  await page.waitForURL(`${server.url}/console/**`);
  return page;
}

async function allShots({ url, bootstrapKey }: RunningServer): Promise<Shot[]> {
  const first = async (path: string, field: string): Promise<string> => {
    const answer = await fetch(`${url}/v1/${path}`, { headers: { 'X-API-Key': bootstrapKey ?? '' } });
    const { items } = (await answer.json()) as { items: Record<string, string>[] };
    return items[0]?.[field] ?? '';
  };
  const provider = await first('providers?tenant_id=northwind&name=knowledge-base', 'id');
  const trace = await first('traces?tenant_id=northwind&errors_only=true', 'traceId');
  const agent = await first('agents?tenant_id=northwind&text=support', 'id');
  const manifest = await first('manifests?tenant_id=northwind&kind=agent', 'id');
  const user = await first('users?tenant_id=northwind&email=ada.fischer@northwind.example', 'id');
  const gateway = await first('gateways?tenant_id=northwind&status=active', 'id');
  const body = JSON.stringify({ id: EMPTY_TENANT });
  const headers = { 'X-API-Key': bootstrapKey ?? '', 'Content-Type': 'application/json' };
  await fetch(`${url}/v1/tenants`, { method: 'POST', headers, body });
  return [
    ...LISTS.map((list) => ({ name: `empty-${list}`, path: `/${list}?tenant=${EMPTY_TENANT}` })),
    { name: 'connect', path: `/connect?${TENANT}` },
    { name: 'connect-snippet', path: `/connect?${TENANT}&framework=pydantic-ai&account=data-platform&of=northwind` },
    { name: 'inbox', path: `/inbox?${TENANT}` },
    { name: 'inbox-panel', path: `/inbox?${TENANT}`, keys: ['j', 'x', 'j'] },
    { name: 'inbox-changed', path: `/inbox?${TENANT}&view=changed_definition`, keys: ['j'] },
    { name: 'inbox-grouped', path: `/inbox?${TENANT}&group=provider` },
    { name: 'inbox-all', path: `/inbox?${TENANT}&view=all` },
    { name: 'changes', path: `/changes?${TENANT}` },
    { name: 'changes-applied', path: `/changes?${TENANT}&view=applied`, keys: ['j'] },
    { name: 'people', path: `/people?${TENANT}`, keys: ['j'] },
    { name: 'access', path: `/access?${TENANT}&source=user:${user}` },
    { name: 'tasks', path: `/tasks?${TENANT}`, keys: ['j'] },
    { name: 'agents', path: `/agents?${TENANT}` },
    { name: 'agent', path: `/agents/${agent}?${TENANT}` },
    { name: 'map', path: `/map?${TENANT}` },
    { name: 'usage', path: `/usage?${TENANT}` },
    { name: 'usage-pairs', path: `/usage?${TENANT}&view=pairs` },
    { name: 'map-table', path: `/map?${TENANT}&as=table` },
    { name: 'traces', path: `/traces?${TENANT}` },
    { name: 'trace', path: `/traces/${trace}?${TENANT}`, keys: ['n'] },
    { name: 'providers', path: `/providers?${TENANT}` },
    { name: 'provider', path: `/providers/${provider}?${TENANT}`, keys: ['j'] },
    ...['observations', 'credential', 'syncs'].map((view) => ({
      name: `provider-${view}`,
      path: `/providers/${provider}?${TENANT}&view=${view}`,
    })),
    { name: 'plan', path: `/providers/${provider}/plan?${TENANT}` },
    { name: 'manifests', path: `/manifests?${TENANT}` },
    { name: 'manifest', path: `/manifests/${manifest}?${TENANT}` },
    { name: 'manifest-form', path: `/manifests/${manifest}?${TENANT}&edit=1` },
    { name: 'gateways', path: `/gateways?${TENANT}` },
    { name: 'gateway', path: `/gateways/${gateway}?${TENANT}`, keys: ['j'] },
    { name: 'accounts', path: `/accounts?${TENANT}` },
    { name: 'keys-expiring', path: `/accounts?${TENANT}&view=expiring` },
    { name: 'account', path: `/accounts/data-platform?${TENANT}` },
    { name: 'key-form', path: `/accounts/data-platform?${TENANT}&new=1` },
    { name: 'tenants', path: '/tenants' },
    { name: 'members', path: `/tenants/northwind?${TENANT}` },
    { name: 'prices', path: `/tenants/northwind?${TENANT}&view=prices` },
    { name: 'settings', path: `/tenants/northwind?${TENANT}&view=settings` },
    { name: 'limits', path: `/tenants/northwind?${TENANT}&view=limits` },
    { name: 'audit', path: `/audit?${TENANT}`, keys: ['j'] },
    { name: 'profile', path: '/profile' },
    { name: 'sessions', path: '/profile?view=sessions' },
    { name: 'palette', path: `/inbox?${TENANT}`, keys: ['Control+k'] },
    { name: 'keys', path: `/inbox?${TENANT}`, keys: ['?'] },
  ];
}
