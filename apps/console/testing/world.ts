import { openConsole } from '@quartermaster/api/src/server/console/build.ts';
import { signedInBrowser } from '@quartermaster/api/test/support/browser.ts';
import { startTestServer, type TestServer } from '@quartermaster/api/test/support/server.ts';
import axe from 'axe-core';
import { launchBrowser } from './browser.ts';
import { startSeededServer } from './seeded-server.ts';
import { openTab, type Tab, WINDOW } from './tab.ts';

/** The development identity provider signs this person in for the link of a start. */
const ADMINISTRATOR = 'admin@example.com';

type WorldOptions = {
  /** Whether the database has the data of the seed. */
  isSeeded?: boolean;
  environment?: Record<string, string>;
};

type OpenOptions = {
  /** The email of the user who signs in. Default: the development administrator. Null: no user. */
  as?: string | null;
  width?: number;
};

export type World = {
  server: TestServer;
  /** A browser with one page of the console, that notes everything that may not happen. */
  open: (path: string, options?: OpenOptions) => Promise<Tab>;
  close: () => Promise<void>;
};

/** A server and a browser. */
export async function startWorld({ isSeeded = true, environment }: WorldOptions = {}): Promise<World> {
  const start = isSeeded ? startSeededServer() : startTestServer(environment, { openConsole });
  const [server, browser] = await Promise.all([start, launchBrowser()]);
  const sessions = new Map<string, Promise<string>>();
  const open = async (path: string, { as = ADMINISTRATOR, width = 1280 }: OpenOptions = {}): Promise<Tab> => {
    const context = await browser.newContext({ ...WINDOW, viewport: { width, height: 800 } });
    await context.addInitScript({ content: axe.source });
    if (as !== null) {
      const session = sessions.get(as) ?? startSession(server, as);
      sessions.set(as, session);
      const name = sessionCookie(server);
      await context.addCookies([{ name, value: await session, url: server.url, httpOnly: true, sameSite: 'Strict' }]);
    }
    return openTab(context, { url: server.url, path });
  };
  const close = async () => {
    await browser.close();
    await server.stop();
  };
  return { server, open, close };
}

/** Signs a person in by the form of the identity provider, without a page. Returns the value of the session cookie. */
async function startSession(server: TestServer, email: string): Promise<string> {
  const { cookies } = await signedInBrowser(server, email);
  return cookies.get(sessionCookie(server)) ?? '';
}

function sessionCookie({ url }: TestServer): string {
  return `quartermaster_session_${new URL(url).port}`;
}
