import type { TestServer } from './server.ts';

type Sent = { headers?: Record<string, string>; form?: Record<string, string>; body?: unknown };
type Page = { status: number; url: string; headers: Headers; text: string };

/**
 * A browser for tests. Unlike fetch it keeps cookies, and sends them when it follows redirects.
 */
export type Browser = {
  cookies: Map<string, string>;
  /** Opens a URL and follows redirects. */
  open(url: string, sent?: Sent): Promise<Page>;
  /** Sends one request, and does not follow redirects. */
  send(method: string, url: string, sent?: Sent): Promise<Page>;
  /** Sends a request to the API as the web console does. */
  call(method: string, path: string, sent?: Sent): Promise<Page & { body: { [name: string]: unknown } }>;
};

const REDIRECTS_MAX = 12;

export function newBrowser(server: Pick<TestServer, 'url'>): Browser {
  const cookies = new Map<string, string>();

  async function send(method: string, url: string, { headers = {}, form, body }: Sent = {}): Promise<Page> {
    const target = new URL(url, server.url);
    const response = await fetch(target, {
      method,
      redirect: 'manual',
      headers: {
        ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(form && { body: new URLSearchParams(form) }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    for (const header of response.headers.getSetCookie()) keep(header);
    return { status: response.status, url: target.href, headers: response.headers, text: await response.text() };
  }

  function keep(header: string): void {
    const [pair = '', ...attributes] = header.split(/;\s*/);
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const isRemoved = value === '' || attributes.some((text) => /^max-age=0$/i.test(text));
    if (isRemoved) cookies.delete(name);
    else cookies.set(name, value);
  }

  async function open(url: string, sent?: Sent): Promise<Page> {
    let page = await send(sent?.form ? 'POST' : 'GET', url, sent);
    for (let step = 0; step < REDIRECTS_MAX; step += 1) {
      const location = page.headers.get('location');
      if (location === null) return page;
      page = await send('GET', new URL(location, page.url).href);
    }
    throw new Error(`more than ${REDIRECTS_MAX} redirects, last to ${page.url}`);
  }

  return {
    cookies,
    open,
    send,
    async call(method, path, sent = {}) {
      const headers = { 'sec-fetch-site': 'same-origin', 'x-quartermaster-console': '1', ...sent.headers };
      const page = await send(method, path, { ...sent, headers });
      return { ...page, body: page.text.startsWith('{') ? JSON.parse(page.text) : {} };
    },
  };
}

/** A browser in which the user with this email is signed in to the web console. */
export async function signedInBrowser(
  server: Pick<TestServer, 'url' | 'devSignIn' | 'publicUrl'>,
  email: string,
): Promise<Browser> {
  const browser = newBrowser(server);
  const secret = new URL(server.devSignIn?.link ?? '').searchParams.get('secret') ?? '';
  const page = await browser.open('/console/sign-in');
  const end = await browser.open(page.url, { form: { email, secret } });
  if (end.url !== `${server.publicUrl}/console/`) throw new Error(`the sign-in ended at ${end.url}: ${end.text}`);
  return browser;
}
