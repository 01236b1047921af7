import { join } from 'node:path';
import { launchBrowser } from '@quartermaster/console/testing/browser.ts';
import buildConsole from '@quartermaster/console/testing/build.ts';
import { bundleSizes } from '@quartermaster/console/testing/bundle.ts';
import { type ConsoleServer, startConsoleServer } from '../console/console-server.ts';
import { openContext, openProfile, openTab, type State, signIn, type Tab } from '../console/tab.ts';
import { type Figure, number, type Table } from '../report.ts';
import { median } from '../rounds.ts';
import { traceInRequests } from '../otlp/batch.ts';
import { callerAt } from '../world/caller.ts';
import { addObservations } from '../world/rows.ts';
import { copyOf, removeCopy, type World } from '../world/world.ts';
import type { Browser } from 'playwright-core';
import type { Bench, Workload } from './workload.ts';

/** Rows of the inbox, spans of the trace and of a request, and how often each action is repeated. */
const SIZES = {
  full: { rows: 5000, manyRows: 100_000, spans: 10_000, spansPerRequest: 500, actions: 25 },
  quick: { rows: 300, manyRows: 600, spans: 500, spansPerRequest: 500, actions: 3 },
};

/** The agreed values: kilobytes of JavaScript and CSS, and milliseconds. */
const AGREED = {
  firstScreenKb: 230,
  laterKb: 60,
  coldMs: 400,
  warmMs: 200,
  startCpuMs: 250,
  scrollCpuMs: 16,
  keyCpuMs: 10,
  characterCpuMs: 50,
};

/** One notch of a mouse wheel, in pixels. */
const NOTCH = 120;

/** The most rounds that are not counted. Chromium caches the compiled code of a script when it is loaded for the second time. */
const WARM_UP_ROUNDS = 3;

/** How each figure is measured, in one line. */
const METHODS = [
  'KB: files of the build, compressed by brotli; of a lazy part what it adds to the first screen',
  'first row: from the start of the navigation until the frame with the first row was painted, in the page; cold: nothing cached',
  'CPU: TaskDuration of the main thread in thread ticks (CDP), so other programs do not count; medians',
  'of a scroll step (a notch of the wheel), a key (j) and a character: with everything that follows within 450 ms',
];

type Context = { bench: Bench; browser: Browser; state: State };

/** The web console in headless Chromium: what it loads, how soon it shows something, and what using it costs. */
export const console: Workload = async (bench) => {
  buildConsole();
  const size = SIZES[bench.quick ? 'quick' : 'full'];
  const browser = await launchBrowser();
  try {
    const inbox = await withServer(bench, size.rows, async (server) => {
      const context = { bench, browser, state: await signIn(browser, server) };
      const starts = await measureStarts(context, server);
      bench.say(`${size.rows} observations in the inbox`);
      const used = await measureInbox(context, server, size.actions);
      bench.say(`${size.spans} spans in a trace`);
      const traceId = await sendTrace(server, bench.world, size);
      return { starts, used, trace: await measureTrace(context, server, { traceId, actions: size.actions }) };
    });
    bench.say(`${size.manyRows} observations in the inbox`);
    const many = await withServer(bench, size.manyRows, async (server) =>
      measureInbox({ bench, browser, state: await signIn(browser, server) }, server, size.actions),
    );
    const uses = { inbox: inbox.used, trace: inbox.trace, 'many rows': many };
    return {
      title: `The web console: ${size.rows} rows, ${size.spans} spans, and ${size.manyRows} rows`,
      table: tableOf(uses),
      figures: [...sizeFigures(), ...startFigures(inbox.starts), ...useFigures(uses)],
      notes: METHODS,
    };
  } finally {
    await browser.close();
  }
};

async function withServer<Result>(
  bench: Bench,
  rows: number,
  work: (server: ConsoleServer) => Promise<Result>,
): Promise<Result> {
  const file = copyOf(bench.world, 'console');
  try {
    await addObservations(file, bench.world, rows);
    const server = await startConsoleServer(bench, file);
    try {
      return await work(server);
    } finally {
      await server.stop();
    }
  } finally {
    removeCopy(file);
  }
}

async function sendTrace(server: ConsoleServer, world: World, size: (typeof SIZES)['full']): Promise<string> {
  const caller = callerAt(server.port, world.key);
  const { traceId, requests } = traceInRequests(size.spans, size.spans / size.spansPerRequest);
  for (const request of requests) await caller.sendSpans(request);
  return traceId;
}

type Starts = { coldMs: number[]; warmMs: number[]; coldCpuMs: number[]; warmCpuMs: number[] };

/** Opens the inbox with nothing cached, and with everything cached, round by round. */
async function measureStarts({ bench, browser, state }: Context, server: ConsoleServer): Promise<Starts> {
  const starts: Starts = { coldMs: [], warmMs: [], coldCpuMs: [], warmCpuMs: [] };
  const profile = await openProfile(join(bench.world.folder, 'browser'), server);
  for (let round = -Math.min(WARM_UP_ROUNDS, bench.rounds); round < bench.rounds; round += 1) {
    const context = await openContext(browser, state);
    const cold = await openTab(context, server, inboxPath(bench));
    await context.close();
    const warm = await openTab(profile, server, inboxPath(bench));
    await warm.page.close();
    if (round < 0) continue;
    starts.coldMs.push(cold.paintedMs);
    starts.coldCpuMs.push(cold.startCpuMs);
    starts.warmMs.push(warm.paintedMs);
    starts.warmCpuMs.push(warm.startCpuMs);
  }
  await profile.close();
  return starts;
}

type Use = { idleMs: number[]; scrollMs: number[]; keyMs: number[]; characterMs: number[]; heapMegabytes: number };

async function measureInbox({ bench, browser, state }: Context, server: ConsoleServer, actions: number): Promise<Use> {
  const context = await openContext(browser, state);
  const tab = await openTab(context, server, inboxPath(bench));
  await loadAllRows(tab);
  const where = { region: 'Observations, scrollable', field: 'Search names' };
  const use = await measureUse(tab, { ...where, typed: 'model-12', actions });
  await context.close();
  return use;
}

type TraceOptions = { traceId: string; actions: number };

async function measureTrace(
  { bench, browser, state }: Context,
  server: ConsoleServer,
  { traceId, actions }: TraceOptions,
): Promise<Use> {
  const context = await openContext(browser, state);
  const tab = await openTab(context, server, `/traces/${traceId}?tenant=${bench.world.tenantId}`);
  const where = { region: 'Spans, scrollable', field: 'Find spans by name' };
  const use = await measureUse(tab, { ...where, typed: 'search_orders', actions });
  await context.close();
  return use;
}

type Steps = { region: string; field: string; typed: string; actions: number };

async function measureUse({ page, cpuOf, heapMegabytes }: Tab, { region, field, typed, actions }: Steps): Promise<Use> {
  const repeated = async (act: () => Promise<void>, times: number) => {
    const costs: number[] = [];
    // The first time compiles what it needs, and is not counted.
    for (let time = 0; time <= times; time += 1) costs.push(await cpuOf(act));
    return costs.slice(1);
  };
  await page.getByRole('region', { name: region }).hover();
  const idleMs = await repeated(async () => {}, actions);
  const scrollMs = await repeated(() => page.mouse.wheel(0, NOTCH), actions);
  const keyMs = await repeated(() => page.keyboard.press('j'), actions);
  await page.keyboard.press('Escape');
  const heap = await heapMegabytes();
  await page.getByLabel(field).focus();
  const characterMs: number[] = [];
  for (const character of typed) characterMs.push(await cpuOf(() => page.keyboard.type(character)));
  return { idleMs, scrollMs, keyMs, characterMs, heapMegabytes: heap };
}

/** Scrolls to the end until the footer says that no row is missing, then back to the top. */
async function loadAllRows({ page }: Tab): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const scroller = document.querySelector('[aria-label="Observations, scrollable"]');
    const timer = setInterval(() => {
      const isComplete = scroller.nextElementSibling.textContent.endsWith(' in all');
      scroller.scrollTop = isComplete ? 0 : scroller.scrollHeight;
      if (!isComplete) return;
      clearInterval(timer);
      resolve();
    }, 20);
  })`);
}

function inboxPath({ world }: Bench): string {
  return `/inbox?tenant=${world.tenantId}`;
}

function sizeFigures(): Figure[] {
  const { firstScreen, later } = bundleSizes();
  return [
    kilobytes('console: first screen', firstScreen, AGREED.firstScreenKb),
    ...later.map(({ source, bytes, isEditor }) =>
      kilobytes(`console: ${source.replace('src/', '')}`, bytes, isEditor ? null : AGREED.laterKb),
    ),
  ];
}

function startFigures({ coldMs, warmMs, coldCpuMs, warmCpuMs }: Starts): Figure[] {
  return [
    milliseconds('console: first row painted, cold', coldMs, AGREED.coldMs),
    milliseconds('console: first row painted, warm', warmMs, AGREED.warmMs),
    milliseconds('console: CPU until the first row, cold', coldCpuMs, AGREED.startCpuMs),
    milliseconds('console: CPU until the first row, warm', warmCpuMs, AGREED.startCpuMs),
  ];
}

function useFigures(uses: Record<string, Use>): Figure[] {
  return Object.entries(uses).flatMap(([where, { scrollMs, keyMs, characterMs }]) => [
    milliseconds(`console: CPU of a scroll step, ${where}`, scrollMs, AGREED.scrollCpuMs),
    milliseconds(`console: CPU of a key, ${where}`, keyMs, AGREED.keyCpuMs),
    milliseconds(`console: CPU of a character, ${where}`, characterMs, AGREED.characterCpuMs),
  ]);
}

function tableOf(uses: Record<string, Use>): Table {
  const shown = (values: readonly number[]) => `${number(median(values))} (${number(Math.max(...values))})`;
  return {
    columns: ['CPU in ms: median (longest)', 'nothing', 'scroll step', 'key', 'character', 'heap, MB'],
    rows: Object.entries(uses).map(([where, use]) => [
      where,
      shown(use.idleMs),
      shown(use.scrollMs),
      shown(use.keyMs),
      shown(use.characterMs),
      number(use.heapMegabytes),
    ]),
  };
}

function kilobytes(name: string, bytes: number, agreed: number | null): Figure {
  return { name, value: bytes / 1000, agreed, better: 'less', unit: ' KB' };
}

function milliseconds(name: string, values: readonly number[], agreed: number): Figure {
  return { name, value: median(values), agreed, better: 'less', unit: ' ms' };
}
