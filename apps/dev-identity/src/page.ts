import { hash } from 'node:crypto';
import { Html, html } from './html.ts';

export type Page = { title: string; body: Html };

/** The part of a Koa context that sendPage needs, so that it accepts both kinds of contexts of the library. */
type PageContext = { body: unknown; type: string; set: (name: string, value: string) => void };

/**
 * `formTarget`: another origin that a form may lead to. Browsers check redirects after a form against `form-action`, so the
 * policy has to contain the client's callback if a sign-in leads back to it.
 */
export function sendPage(ctx: PageContext, page: Page, { formTarget }: { formTarget?: string | undefined } = {}): void {
  const formAction = formTarget === undefined ? "'self'" : `'self' ${formTarget}`;
  ctx.set(
    'Content-Security-Policy',
    `default-src 'none'; style-src ${STYLE_SOURCE}; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
  );
  ctx.set('Cache-Control', 'no-store');
  ctx.type = 'html';
  ctx.body = layout(page).markup;
}

const STYLE = `
:root { color-scheme: light dark; font: 100%/1.5 system-ui, sans-serif; }
body { margin: 0; padding: 2rem 1rem; }
main { max-width: 26rem; margin: 0 auto; }
h1 { font-size: 1.5rem; line-height: 1.25; }
form { margin: 0 0 1.5rem; }
label { display: block; font-weight: 600; }
input, button { box-sizing: border-box; width: 100%; min-height: 2.75rem; margin: 0.25rem 0 0.5rem; padding: 0.5rem 0.75rem; font: inherit; border: 1px solid GrayText; border-radius: 0.375rem; }
button { text-align: left; cursor: pointer; }
button span { display: block; overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid Highlight; outline-offset: 2px; }
.notice, .problem { padding: 0.5rem 0.75rem; border-left: 0.25rem solid; }
.code { font: 600 1.75rem/1.5 ui-monospace, monospace; letter-spacing: 0.1em; }
code { overflow-wrap: anywhere; }
`;
const STYLE_SOURCE = `'sha256-${hash('sha256', STYLE, 'base64')}'`;

function layout({ title, body }: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - Quartermaster development sign-in</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
}
