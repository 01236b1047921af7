import { openConsole } from '@quartermaster/api/src/server/console/build.ts';
import { startTestServer, type TestServer } from '@quartermaster/api/test/support/server.ts';
import { seed } from '@quartermaster/seed/seed.ts';
import axe, { type AxeResults, type RunOnly, type RunOptions } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { launchBrowser } from './browser.ts';

/** A part of what `npm run seed` makes: enough for every screen to have something. */
const SCALE = 0.25;

/** The development identity provider signs this person in for the link of a start. */
const ADMINISTRATOR = 'admin@example.com';

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

type State = Awaited<ReturnType<BrowserContext['storageState']>>;

type OpenOptions = {
  /** The email of a person of the seed. The development administrator unless given. */
  as?: string;
  width?: number;
};

export type World = {
  server: TestServer;
  /** A page of the console that is signed in, and that notes everything that may not happen. */
  open: (path: string, options?: OpenOptions) => Promise<Tab>;
  close: () => Promise<void>;
};

type Tab = {
  page: Page;
  context: BrowserContext;
  /** Opens another address of the console in the same tab. */
  goTo: (path: string) => Promise<void>;
  /** Expects no error of the page, nothing that its policy refused, and no failure of accessibility, light and dark. */
  expectFaultless: (what?: string) => Promise<void>;
  /** The same, then closes the tab. */
  done: () => Promise<void>;
};

/** A server with the data of the seed, and a browser. */
export async function startWorld(): Promise<World> {
  const [server, browser] = await Promise.all([
    startTestServer({ QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8,::1' }, { openConsole }),
    launchBrowser(),
  ]);
  await seed({ url: server.url, credential: server.admin, scale: SCALE });
  const signedIn = new Map<string, Promise<State>>();
  const open = async (path: string, { as = ADMINISTRATOR, width = 1280 }: OpenOptions = {}): Promise<Tab> => {
    const state = signedIn.get(as) ?? signIn(browser, server, as);
    signedIn.set(as, state);
    const context = await browser.newContext({ ...settings(width), storageState: await state });
    await context.addInitScript({ content: axe.source });
    const page = await context.newPage();
    const faults = faultsOf(page);
    const goTo = async (to: string) => {
      await page.goto(`${server.url}/console${to}`);
    };
    const expectFaultless = async (what = path) => {
      expect(faults, what).toEqual([]);
      expect(await accessibilityFaults(page), what).toEqual([]);
    };
    const done = async () => {
      await expectFaultless();
      await context.close();
    };
    await goTo(path);
    return { page, context, goTo, expectFaultless, done };
  };
  const close = async () => {
    await browser.close();
    await server.stop();
  };
  return { server, open, close };
}

function settings(width: number) {
  return {
    viewport: { width, height: 800 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-US',
  } as const;
}

/** Signs in as a person does: by the link of the start, and for others by the form of the identity provider. */
async function signIn(browser: Browser, server: TestServer, email: string): Promise<State> {
  const context = await browser.newContext(settings(1280));
  const page = await context.newPage();
  await page.goto(server.devSignIn?.link ?? '');
  await page.waitForURL(`${server.url}/console/**`);
  if (email !== ADMINISTRATOR) {
    await page.goto(`${server.url}/console/sign-in?prompt=login`);
    await page.locator('input[name=email]').last().fill(email);
    await page.locator('input[name=email]').last().press('Enter');
    await page.waitForURL(`${server.url}/console/**`);
  }
  const state = await context.storageState();
  await context.close();
  return state;
}

/** What the page throws, and what it or the browser writes to its console: violations of the security policy, too. */
function faultsOf(page: Page): string[] {
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`page error: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console ${message.type()}: ${message.text()}`);
  });
  return faults;
}

/** Everything in the light scheme; in the dark one, which differs in its colours alone, the contrasts. */
async function accessibilityFaults(page: Page): Promise<string[]> {
  const light = await violations(page, { type: 'tag', values: WCAG });
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await violations(page, { type: 'rule', values: ['color-contrast'] });
  await page.emulateMedia({ colorScheme: 'light' });
  return [...light, ...dark];
}

/** The script is in every page from its start. Injected for each check, it would double the time of the suite. */
async function violations(page: Page, runOnly: RunOnly): Promise<string[]> {
  const options: RunOptions = { runOnly, resultTypes: ['violations'] };
  const found = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}
