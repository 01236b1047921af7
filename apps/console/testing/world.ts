import { openConsole } from '@quartermaster/api/src/server/console/build.ts';
import { signedInBrowser } from '@quartermaster/api/test/support/browser.ts';
import { startTestServer, type TestServer } from '@quartermaster/api/test/support/server.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import type { Browser, BrowserContext } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { startSeededServer } from './seeded-server.ts';
import { openTab, type Tab, type Window, WINDOW } from './tab.ts';

/** The development identity provider signs this person in for the link of a start. */
const ADMINISTRATOR = 'admin@example.com';

/** How long a test waits for something to be shown, in milliseconds. */
const TIMEOUT_MS = scaled({ usual: 60_000, full: 120_000 });

type WorldOptions = {
  /** Whether the database has the data of the seed. */
  isSeeded?: boolean;
  environment?: Record<string, string>;
};

type OpenOptions = {
  /** The email of the user who signs in. Default: the development administrator. Null: no user. */
  as?: string | null;
  width?: number;
  /** The test changes what no later test of the file could change back, such as the clock: its window is closed at its end. */
  ownWindow?: boolean;
};

export type World = {
  server: TestServer;
  /** A browser with one page of the console, that notes everything that may not happen. */
  open: (path: string, options?: OpenOptions) => Promise<Tab>;
  close: () => Promise<void>;
};

/** One for all files of a run, because a start takes half a second. It ends with the process. */
let launched: Promise<Browser> | undefined;

/** A server and a browser. */
export async function startWorld({ isSeeded = true, environment }: WorldOptions = {}): Promise<World> {
  const start = isSeeded ? startSeededServer() : startTestServer(environment, { openConsole });
  launched ??= launchBrowser();
  const [server, browser] = await Promise.all([start, launched]);
  const contexts = new Set<BrowserContext>();
  const sessions = new Map<string, Promise<string>>();
  const left: Window[] = [];
  const open = async (path: string, options: OpenOptions = {}): Promise<Tab> => {
    const { as = ADMINISTRATOR, width = 1280, ownWindow = false } = options;
    const window = (ownWindow ? undefined : left.pop()) ?? (await newWindow(browser));
    contexts.add(window.context);
    await window.page.setViewportSize({ width, height: 800 });
    if (as !== null) {
      const session = sessions.get(as) ?? startSession(server, as);
      sessions.set(as, session);
      const name = sessionCookie(server);
      await window.context.addCookies([
        { name, value: await session, url: server.url, httpOnly: true, sameSite: 'Strict' },
      ]);
    }
    return openTab(window, { url: server.url, path }, async () => {
      if (ownWindow) return window.context.close();
      await clearWindow(window, server.url);
      left.push(window);
    });
  };
  const close = async () => {
    // A closed one may be closed again.
    await Promise.all([...contexts].map((context) => context.close()));
    await server.stop();
  };
  return { server, open, close };
}

async function newWindow(browser: Browser): Promise<Window> {
  const context = await browser.newContext(WINDOW);
  context.setDefaultTimeout(TIMEOUT_MS);
  if (process.env['FAKETIME'] !== undefined) await context.clock.setSystemTime(new Date());
  return { context, page: await context.newPage() };
}

/** Makes a window like a new one, but for the files of the console that the browser has loaded. */
async function clearWindow({ context, page }: Window, url: string): Promise<void> {
  for (const other of context.pages()) if (other !== page) await other.close();
  // By their types: Playwright has listeners of its own.
  for (const type of ['weberror', 'console']) context.removeAllListeners(type);
  for (const type of ['request', 'requestfinished', 'requestfailed']) page.removeAllListeners(type);
  await page.unrouteAll();
  // Ends the console before it loses its session.
  await page.goto(`${url}/healthz`);
  await page.evaluate('sessionStorage.clear()');
  const devTools = await context.newCDPSession(page);
  await devTools.send('Storage.clearDataForOrigin', { origin: url, storageTypes: 'all' });
  await devTools.detach();
  await context.clearCookies();
  await context.clearPermissions();
}

/** Signs a person in by the form of the identity provider, without a page. Returns the value of the session cookie. */
async function startSession(server: TestServer, email: string): Promise<string> {
  const { cookies } = await signedInBrowser(server, email);
  return cookies.get(sessionCookie(server)) ?? '';
}

function sessionCookie({ url }: TestServer): string {
  return `quartermaster_session_${new URL(url).port}`;
}
