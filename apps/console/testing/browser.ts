import { access } from 'node:fs/promises';
import sparticuz from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium, type ViewportSize } from 'playwright-core';

/** A Chromium of the machine, which starts faster than the one that comes in the package. */
const INSTALLED = '/usr/bin/chromium';

/** Starts a headless Chromium: the machine's, or else the one of the package, which it unpacks to the temporary folder. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch(await launchOptions());
}

/** Starts a headless Chromium that keeps its data in a folder, as the browser of a person does. It also caches compiled code. */
export async function launchProfile(folder: string, viewport: ViewportSize): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, { ...(await launchOptions()), viewport, reducedMotion: 'reduce' });
}

async function launchOptions() {
  const isInstalled = await access(INSTALLED).then(
    () => true,
    () => false,
  );
  // The package's own arguments make it one process, which dies with the first closed page.
  const executablePath = isInstalled ? INSTALLED : await sparticuz.executablePath();
  return { executablePath, args: ['--no-sandbox', '--disable-gpu'], headless: true };
}
