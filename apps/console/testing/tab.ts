import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { AxeResults, Result, RunOptions } from 'axe-core';
import type { BrowserContext, Page, Request } from 'playwright-core';
import { expect, inject } from 'vitest';

declare module 'vitest' {
  // oxlint-disable-next-line typescript/consistent-type-definitions -- an interface alone is merged
  interface ProvidedContext {
    /** Whether pages are checked for accessibility. `npm run test:deep` does. */
    accessibility: boolean;
  }
}

/** The settings of every browser window. */
export const WINDOW = { colorScheme: 'light', reducedMotion: 'reduce', locale: 'en-US' } as const;

/** Less than half as long as the text that the package exports. */
const AXE = readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

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
  /** Expects no error of the page and nothing that its policy refused. In the deep form, no failure of accessibility, light and dark. */
  expectFaultless: (what?: string) => Promise<void>;
  /**
   * Expects no error of the page and nothing that its policy refused. In the deep form, no failure of accessibility if the page shows
   * something that was not checked before, by any test of the run. Then leaves the window.
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
    if (!inject('accessibility')) return;
    const shown = await kindsOf(page);
    expect(await accessibilityFaults(page), what).toEqual([]);
    for (const kind of shown) checked.add(kind);
  };
  const done = async () => {
    const isChecked = async () => (await kindsOf(page)).every((kind) => checked.has(kind));
    if (inject('accessibility') && !(await isChecked())) await expectFaultless();
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
const QUIET_MS = 30;

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

/** The looks of texts whose contrast was sufficient. */
const sufficient = new Set<string>();

/** The looks of texts that were in view when contrasts were checked. Some cannot be judged, such as those of disabled controls. */
const seen = new Set<string>();

/**
 * Everything but contrasts on the whole page; and contrasts if it shows a text that looks like none on the pages before. In the
 * light scheme, and in the dark one, which differs in its colours alone.
 */
async function accessibilityFaults(page: Page): Promise<string[]> {
  // Loads the script once for each page that is checked. It is large.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(await AXE);
  const options: RunOptions = {
    runOnly: { type: 'tag', values: WCAG },
    rules: { 'color-contrast': { enabled: false } },
    resultTypes: ['violations'],
  };
  const found = (await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`)).violations;
  const light = await contrastsOf(page);
  if (light !== null) {
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await contrastsOf(page);
    await page.emulateMedia({ colorScheme: 'light' });
    const faults = [...light.violations, ...(dark?.violations ?? [])];
    found.push(...faults);
    // Another page has to fail for the same reason.
    if (faults.length === 0) {
      for (const look of [...light.seen, ...(dark?.seen ?? [])]) seen.add(look);
      for (const look of [...light.passed, ...(dark?.passed ?? [])]) sufficient.add(look);
    }
  }
  return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}

type Contrasts = {
  violations: Result[];
  /** The looks with a sufficient contrast. */
  passed: string[];
  /** The looks in view. */
  seen: string[];
};

/** Checks one text of each look that is not known to have a sufficient contrast. @returns null if no look in view is new */
async function contrastsOf(page: Page): Promise<Contrasts | null> {
  const texts = await page.evaluate<{ look: string; isInView: boolean }[]>(TEXTS_BY_LOOK);
  const isNew = ({ look, isInView }: (typeof texts)[number]) => isInView && !seen.has(look) && !sufficient.has(look);
  if (!texts.some(isNew)) return null;
  const left = texts.map(({ look }) => look).filter((look) => !sufficient.has(look));
  const options: RunOptions = {
    runOnly: { type: 'rule', values: ['color-contrast'] },
    resultTypes: ['violations', 'passes'],
    elementRef: true,
  };
  const result = await page.evaluate<Omit<Contrasts, 'seen'>>(`(async () => {
    const texts = ${JSON.stringify(left)}.map((look) => ({ look, element: window.textsByLook.get(look) }));
    const include = texts.map(({ element }) => element).filter((element) => element.isConnected);
    const { violations, passes } = await axe.run({ include }, ${JSON.stringify(options)});
    const elements = new Set(passes.flatMap(({ nodes }) => nodes.map(({ element }) => element)));
    return { violations, passed: texts.flatMap(({ look, element }) => (elements.has(element) ? [look] : [])) };
  })()`);
  return { ...result, seen: texts.flatMap(({ look, isInView }) => (isInView ? [look] : [])) };
}

/**
 * Finds an element for each look of the texts of a page, if possible one in view. Two texts look alike if they and all that they
 * are in have the same tags, classes, attributes, colours and sizes of letters. Runs in the page.
 */
const TEXTS_BY_LOOK = `(() => {
  const attributeOf = ({ name, value }) => (['true', 'false'].includes(value) ? name + value : name);
  const ownLook = (element) => {
    const style = getComputedStyle(element);
    return [
      element.localName,
      element.getAttribute('class'),
      [...element.attributes].map(attributeOf).sort(),
      style.color,
      style.backgroundColor,
      style.backgroundImage,
      style.opacity,
      style.fontSize,
      style.fontWeight,
    ].join();
  };
  // Numbers, because the texts are long.
  const hash = (text) => {
    let [a, b] = [0xdeadbeef, 0x41c6ce57];
    for (let at = 0; at < text.length; at += 1) {
      a = Math.imul(a ^ text.charCodeAt(at), 0x9e3779b1);
      b = Math.imul(b ^ text.charCodeAt(at), 0x5f356495);
    }
    return (a >>> 0) + '.' + (b >>> 0);
  };
  const looks = new Map([[null, '']]);
  const lookOf = (element) => {
    if (!looks.has(element)) looks.set(element, hash(lookOf(element.parentElement) + ownLook(element)));
    return looks.get(element);
  };
  const isInView = (element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    return width > 1 && height > 1 && there !== null && (there.contains(element) || element.contains(there));
  };
  const elements = new Set(document.querySelectorAll('input:not([type=hidden], [type=checkbox], [type=radio]), textarea'));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (walker.currentNode.data.trim() !== '') elements.add(walker.currentNode.parentElement);
  const found = new Map();
  for (const element of elements) {
    const look = lookOf(element);
    if (found.get(look)?.isInView !== true) found.set(look, { look, element, isInView: isInView(element) });
  }
  window.textsByLook = new Map([...found.values()].map(({ look, element }) => [look, element]));
  return [...found.values()].map(({ look, isInView }) => ({ look, isInView }));
})()`;
