import type { AxeResults, RunOnly, RunOptions } from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';

/** The settings of every browser window. */
export const WINDOW = { colorScheme: 'light', reducedMotion: 'reduce', locale: 'en-US' } as const;

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** A browser window with a page of the console. */
export type Tab = {
  page: Page;
  context: BrowserContext;
  /** What the page threw or wrote to its console so far: violations of the security policy, too. */
  faults: readonly string[];
  /** Opens another address of the console in the same tab. */
  goTo: (path: string) => Promise<void>;
  /**
   * From now on the server may answer with this status. Browsers write every answer from 400 on to the console, which is a fault
   * otherwise. It is also a fault if no such answer comes.
   */
  expectAnswers: (status: number) => void;
  /** From now on the page may write errors that match this. It is also a fault if none comes. */
  expectErrors: (pattern: RegExp) => void;
  /** Expects no error of the page, nothing that its policy refused, and no failure of accessibility, light and dark. */
  expectFaultless: (what?: string) => Promise<void>;
  /** The same, then closes the window. */
  done: () => Promise<void>;
};

export async function openTab(context: BrowserContext, { url, path }: { url: string; path: string }): Promise<Tab> {
  const page = await context.newPage();
  const noted = noteFaults(context);
  const goTo = async (to: string) => {
    await page.goto(`${url}/console${to}`);
  };
  const expectFaultless = async (what = path) => {
    expect(noted.faults, what).toEqual([]);
    expect(await accessibilityFaults(page), what).toEqual([]);
  };
  const done = async () => {
    await expectFaultless();
    expect(noted.missing(), `${path}: statuses and errors that were expected`).toEqual([]);
    await context.close();
  };
  await goTo(path);
  const { faults, expectAnswers, expectErrors } = noted;
  return { page, context, faults, goTo, expectAnswers, expectErrors, expectFaultless, done };
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
