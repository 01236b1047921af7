const REQUEST_TIMEOUT_MS = 10_000;

/** Like `fetch`, but keeps cookies, as a browser does. Does not follow redirects. */
export type HttpSession = {
  get: (url: string) => Promise<Response>;
  post: (url: string, form: Record<string, string>, headers?: Record<string, string>) => Promise<Response>;
};

/** A session with one host: it distinguishes cookies by path, not by domain. Every request has a time limit of 10 s. */
export function createHttpSession(signal?: AbortSignal): HttpSession {
  const cookies = new Map<string, Cookie>();

  async function send(
    url: string,
    init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> },
  ): Promise<Response> {
    const { pathname } = new URL(url);
    const cookie = [...cookies.values()].filter(({ path }) => covers(path, pathname)).map(({ pair }) => pair);
    const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const response = await fetch(url, {
      ...init,
      headers: {
        accept: 'text/html',
        ...init.headers,
        cookie: cookie.join('; '),
      },
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    for (const header of response.headers.getSetCookie()) keep(header);
    return response;
  }

  function keep(header: string): void {
    const [pair = '', ...attributes] = header.split(/;\s*/);
    const attribute = (name: string) =>
      attributes.find((text) => text.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
    const path = attribute('path') ?? '/';
    const key = `${pair.split('=', 1)[0]} ${path}`;
    const expires = attribute('expires');
    if (expires !== undefined && Date.parse(expires) <= Date.now()) cookies.delete(key);
    else cookies.set(key, { pair, path });
  }

  return {
    get: (url) => send(url, {}),
    post: (url, form, headers = {}) => send(url, { method: 'POST', body: new URLSearchParams(form), headers }),
  };
}

type Cookie = { pair: string; path: string };

/** Whether a cookie's path matches a request (RFC 6265 section 5.1.4). */
function covers(path: string, pathname: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}
