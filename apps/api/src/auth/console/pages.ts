import type { Problem } from '@quartermaster/contracts/errors.ts';

/** The page after a failed sign-in. */
export function signInFailedPage(publicUrl: string, { title, detail, code, instance }: Problem): string {
  const url = escaped(publicUrl);
  const next =
    code === 'console_sign_in_off'
      ? `API keys work without it: <a href="${url}/docs">the API</a>.`
      : `<a href="${url}/console/sign-in">Sign in again</a> · <a href="${url}/console/sign-in?prompt=login">Sign in as another user</a>`;
  return page('Sign-in failed', [
    `<p><strong>${escaped(title)}.</strong> ${escaped(detail)}</p>`,
    `<p>${next}</p>`,
    `<p><small>Code <code>${escaped(code)}</code>, request <code>${escaped(instance)}</code></small></p>`,
  ]);
}

/** The page after a sign-out. */
export function signedOutPage(publicUrl: string): string {
  return page('Signed out', [
    '<p>You are signed out of Quartermaster.</p>',
    `<p><a href="${escaped(publicUrl)}/console/sign-in?prompt=login">Sign in again</a></p>`,
  ]);
}

function page(title: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Quartermaster</title>
<style>
html { background: Canvas; color: CanvasText; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto 0; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; }
</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body.join('\n')}
</main>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
