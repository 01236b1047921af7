import axe, { type AxeResults, type RunOnly, type RunOptions } from 'axe-core';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { expect } from 'vitest';

/** The settings of every browser window. */
export const WINDOW = { colorScheme: 'light', reducedMotion: 'reduce', locale: 'en-US' } as const;

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** An address without a screen. */
const NOWHERE = '/nowhere';

/** Resolves when the page has handled what it was sent before, and has drawn twice. */
const DRAWN_TWICE = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))`;

/** A browser window that is reused: a new one takes three times the CPU time to show a page. */
export type Window = { context: BrowserContext; page: Page };

/** A browser window with a page of the console. */
export type Tab = {
  page: Page;
  context: BrowserContext;
  /** What the page threw or wrote to its console so far: violations of the security policy, too. */
  faults: readonly string[];
  /** Loads another address of the console in the same tab. */
  goTo: (path: string) => Promise<void>;
  /**
   * Shows another address of the console without loading the page again, as its links do: a fifth of the work. The view before it
   * is gone when this returns.
   */
  moveTo: (path: string) => Promise<void>;
  /** Waits until the page has got every answer that it asked for, and has drawn it. */
  settled: () => Promise<void>;
  /**
   * From now on the server may answer with this status. Browsers write every answer from 400 on to the console, which is a fault
   * otherwise. It is also a fault if no such answer comes.
   */
  expectAnswers: (status: number) => void;
  /** From now on the page may write errors that match this. It is also a fault if none comes. */
  expectErrors: (pattern: RegExp) => void;
  /** Expects no error of the page, nothing that its policy refused, and no failure of accessibility, light and dark. */
  expectFaultless: (what?: string) => Promise<void>;
  /**
   * Expects no error of the page and nothing that its policy refused, and no failure of accessibility if the page shows something
   * that was not checked before, by any test of the run. Then leaves the window.
   */
  done: () => Promise<void>;
};

type Address = { url: string; path: string };

/** @param leave gives the window up at the end of the test */
export async function openTab(
  { context, page }: Window,
  { url, path }: Address,
  leave: () => Promise<void>,
): Promise<Tab> {
  const noted = noteFaults(context);
  const settled = settling(page);
  const goTo = async (to: string) => {
    await page.goto(`${url}/console${to}`);
  };
  const moveTo = async (to: string) => {
    const missing = page.getByRole('heading', { level: 1, name: 'No such page' });
    await page.evaluate(pushOf(NOWHERE));
    await missing.waitFor();
    await page.evaluate(pushOf(to));
    await missing.waitFor({ state: 'detached' });
  };
  const expectFaultless = async (what = path) => {
    expect(noted.faults, what).toEqual([]);
    const shown = await kindsOf(page);
    expect(await accessibilityFaults(page), what).toEqual([]);
    for (const kind of shown) checked.add(kind);
  };
  const done = async () => {
    if ((await kindsOf(page)).some((kind) => !checked.has(kind))) await expectFaultless();
    expect(noted.faults, path).toEqual([]);
    expect(noted.missing(), `${path}: statuses and errors that were expected`).toEqual([]);
    await leave();
  };
  await goTo(path);
  const { faults, expectAnswers, expectErrors } = noted;
  return { page, context, faults, goTo, moveTo, settled, expectAnswers, expectErrors, expectFaultless, done };
}

/** The router notices it, as it does for a link. */
function pushOf(path: string): string {
  return `history.pushState(null, '', ${JSON.stringify(`/console${path}`)})`;
}

/** The answers of a page are complete if it asks nothing for this long, in milliseconds. */
const QUIET_MS = 100;

/** Follows the requests of a page. @returns a function that waits until there is none, and what came is drawn */
function settling(page: Page): () => Promise<void> {
  const waiting = new Set<Request>();
  let asked = 0;
  page.on('request', (request) => {
    waiting.add(request);
    asked += 1;
  });
  // Requests of the test before may end here, too.
  const end = (request: Request) => void waiting.delete(request);
  page.on('requestfinished', end);
  page.on('requestfailed', end);
  return async () => {
    for (;;) {
      const before = asked;
      await page.waitForTimeout(QUIET_MS);
      // However busy the machine is: the page handles what came before it draws.
      await page.evaluate(DRAWN_TWICE);
      if (asked === before && waiting.size === 0) return;
    }
  };
}

/**
 * Notes what any page of the window throws, and what it or the browser writes to its console. Violations of the security policy
 * are among that.
 */
function noteFaults(context: BrowserContext) {
  const faults: string[] = [];
  const expected = new Map<number, number>();
  const patterns = new Map<RegExp, number>();
  context.on('weberror', (webError) => faults.push(`page error: ${webError.error().message}`));
  context.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    const status = Number(/^Failed to load resource: .* status of (\d+)/.exec(message.text())?.[1]);
    const seen = expected.get(status);
    const pattern = [...patterns.keys()].find((each) => each.test(message.text()));
    if (pattern !== undefined) patterns.set(pattern, (patterns.get(pattern) ?? 0) + 1);
    else if (seen === undefined) faults.push(`console ${message.type()}: ${message.text()} ${message.location().url}`);
    else expected.set(status, seen + 1);
  });
  return {
    faults,
    expectAnswers: (status: number) => void expected.set(status, 0),
    expectErrors: (pattern: RegExp) => void patterns.set(pattern, 0),
    missing: () => [...expected, ...patterns].flatMap(([what, seen]) => (seen === 0 ? [what] : [])),
  };
}

/** The kinds of elements that were on a page without a failure of accessibility. */
const checked = new Set<string>();

/**
 * The kinds of the elements of a page. Two elements are of one kind if they look and behave alike: the same tag, class, role, input
 * type and attributes, both with or without text, in parents of which the same holds.
 */
function kindsOf(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const kindOf = (element) => [
      element.localName,
      element.getAttribute('class'),
      element.getAttribute('role'),
      element.getAttribute('type'),
      element.getAttributeNames().sort(),
      element.textContent.trim() === '',
    ].join();
    const elements = [...document.querySelectorAll('body, body *')];
    return [...new Set(elements.map((element) => kindOf(element.parentElement) + ' > ' + kindOf(element)))];
  })()`);
}

/** Everything in the light scheme; in the dark one, which differs in its colours alone, the contrasts. */
async function accessibilityFaults(page: Page): Promise<string[]> {
  const light = await violations(page, { type: 'tag', values: WCAG });
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await violations(page, { type: 'rule', values: ['color-contrast'] });
  await page.emulateMedia({ colorScheme: 'light' });
  return [...light, ...dark];
}

/** Loads the script once for each page that is checked. It is large. */
async function violations(page: Page, runOnly: RunOnly): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe.source);
  const options: RunOptions = { runOnly, resultTypes: ['violations'] };
  const found = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}
