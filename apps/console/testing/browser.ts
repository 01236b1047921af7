import sparticuz from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium, type ViewportSize } from 'playwright-core';

/** The path of a Chromium to use instead of the package's, such as `/usr/bin/chromium`. */
const OWN_BROWSER = process.env['QM_TEST_BROWSER'];

/** Starts a headless Chromium: the one of the package, unpacked to the temporary folder, whatever the machine has installed. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch(await launchOptions());
}

/** Starts a headless Chromium that keeps its data in a folder, as the browser of a person does. It also caches compiled code. */
export async function launchProfile(folder: string, viewport: ViewportSize): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, { ...(await launchOptions()), viewport, reducedMotion: 'reduce' });
}

async function launchOptions() {
  // The package's own arguments make it one process, which dies with the first closed page.
  const executablePath = OWN_BROWSER ?? (await sparticuz.executablePath());
  return { executablePath, args: ['--no-sandbox', '--disable-gpu'], headless: true };
}
