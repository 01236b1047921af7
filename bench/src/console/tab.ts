import { setTimeout as sleep } from 'node:timers/promises';
import { launchProfile } from '@quartermaster/console/testing/browser.ts';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import type { ConsoleServer } from './console-server.ts';

/** How long an action may keep the page busy. All CPU time until then belongs to the action. */
const SETTLE_MS = 450;

const VIEWPORT = { width: 1440, height: 900 };

const BINDING = 'firstRowPainted';

/** In the page: tells when a frame was painted that has the first row of a table or of a trace. */
const TELL_FIRST_ROW = `
  new MutationObserver((_, observer) => {
    if (document.querySelector('[data-key], [role=treegrid] [role=row]') === null) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => window.${BINDING}(String(performance.now()));
      port2.postMessage(null);
    });
  }).observe(document, { childList: true, subtree: true });
`;

/** A page of the console, and the CPU time of its main thread. Times are in milliseconds. */
export type Tab = {
  page: Page;
  /** When the first row was painted, since the start of the navigation. */
  paintedMs: number;
  /** The CPU time until the first row was painted. */
  startCpuMs: number;
  /** The CPU time that an action costs, with everything that follows it. */
  cpuOf: (act: () => Promise<void>) => Promise<number>;
  heapMegabytes: () => Promise<number>;
};

/** What a browser keeps of a signed-in person. */
export type State = Awaited<ReturnType<BrowserContext['storageState']>>;

/** Signs in the development administrator. */
export async function signIn(browser: Browser, server: ConsoleServer): Promise<State> {
  const context = await browser.newContext();
  await openSignInLink(context, server);
  const state = await context.storageState();
  await context.close();
  return state;
}

/** A signed-in context with nothing cached. */
export async function openContext(browser: Browser, storageState: State): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: VIEWPORT, storageState, reducedMotion: 'reduce' });
  await context.addInitScript({ content: TELL_FIRST_ROW });
  return context;
}

/** A signed-in context that caches everything in a folder. */
export async function openProfile(folder: string, server: ConsoleServer): Promise<BrowserContext> {
  const context = await launchProfile(folder, VIEWPORT);
  await context.addInitScript({ content: TELL_FIRST_ROW });
  await openSignInLink(context, server);
  return context;
}

async function openSignInLink(context: BrowserContext, { signInLink, url }: ConsoleServer): Promise<void> {
  const page = await context.newPage();
  await page.goto(signInLink);
  await page.waitForURL(`${url}/console/**`);
  await page.close();
}

/** Opens an address of the console in a new tab, and waits for the first row. */
export async function openTab(context: BrowserContext, { url }: ConsoleServer, path: string): Promise<Tab> {
  const page = await context.newPage();
  // A page of this origin without scripts: the process of the tab exists before the measurement.
  await page.goto(`${url}/healthz`);
  const session = await context.newCDPSession(page);
  await session.send('Runtime.enable');
  await session.send('Runtime.addBinding', { name: BINDING });
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  // Counted from the start of a navigation.
  const cpu = async () => (await metricOf(session, 'TaskDuration')) * 1000;
  const painted = new Promise<number>((resolve) => {
    session.once('Runtime.bindingCalled', ({ payload }) => resolve(Number(payload)));
  });
  await page.goto(`${url}/console${path}`, { waitUntil: 'commit' });
  return {
    page,
    paintedMs: await painted,
    startCpuMs: await cpu(),
    cpuOf: async (act) => {
      const before = await cpu();
      await act();
      await sleep(SETTLE_MS);
      return (await cpu()) - before;
    },
    heapMegabytes: async () => (await metricOf(session, 'JSHeapUsedSize')) / 1e6,
  };
}

async function metricOf(session: CDPSession, name: string): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
}
