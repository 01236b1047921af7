import type { DevAccount } from './accounts.ts';
import type { Html } from './html.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';

/** Its forms have no action, so browsers send them to the page's own address. */
export function signInPage({
  accounts,
  current,
  email,
  problem,
  destination,
  isUnlocked,
}: {
  accounts: readonly DevAccount[];
  /** The account that this browser is signed in as. It is offered first. */
  current: DevAccount | undefined;
  /** The value of the email field. */
  email: string;
  problem: string | undefined;
  /** The origin that the browser goes to next; undefined in the device flow. */
  destination: string | undefined;
  /** Whether this browser has shown the secret of this start. Until then the page asks only for the secret. */
  isUnlocked: boolean;
}): Page {
  if (!isUnlocked) return secretPage(problem);
  const others = accounts.filter((account) => account.email !== current?.email);
  const describedBy = problem === undefined ? undefined : html` aria-invalid="true" aria-describedby="problem"`;
  return {
    title: 'Choose an account',
    body: html`
<p class="notice">This is a development identity provider. There are no passwords: this browser
can sign in as any account.</p>
<p>Quartermaster asks for your name and email${destination && html`, and continues at <code>${destination}</code>`}.</p>
${problemText(problem)}
<form method="post" aria-label="Accounts">
${current && accountButton(current, 'Continue as ')}
${others.map((account) => accountButton(account, ''))}
</form>
<form method="post" aria-label="Another account">
<label for="email">Another email</label>
<input id="email" name="email" type="email" maxlength="254" autocomplete="off" required value="${email}"${describedBy}>
<button type="submit">Sign in with this email</button>
</form>
<form method="post" aria-label="Cancel">
<button type="submit" name="abort" value="yes">Cancel</button>
</form>`,
  };
}

function secretPage(problem: string | undefined): Page {
  const describedBy = problem === undefined ? undefined : html` aria-invalid="true" aria-describedby="problem"`;
  return {
    title: 'Unlock this browser',
    body: html`
<p class="notice">This is a development identity provider, for the person who started the server. Open the link that
the server printed and start again, or enter the secret of this start.</p>
${problemText(problem)}
<form method="post" aria-label="Unlock">
<label for="secret">Secret</label>
<input id="secret" name="secret" type="password" maxlength="128" autocomplete="off" required${describedBy}>
<button type="submit">Unlock this browser</button>
</form>
<form method="post" aria-label="Cancel">
<button type="submit" name="abort" value="yes">Cancel</button>
</form>`,
  };
}

export function unlockedPage(): Page {
  return {
    title: 'Browser unlocked',
    body: html`<p>This browser may sign in as any account until the server ends. You may close this page.</p>`,
  };
}

export function userCodePage({
  action,
  xsrf,
  userCode,
  problem,
}: {
  action: string;
  xsrf: string;
  userCode: string;
  problem: string | undefined;
}): Page {
  const describedBy = problem === undefined ? undefined : html` aria-invalid="true" aria-describedby="problem"`;
  return {
    title: 'Connect a device',
    body: html`
${problemText(problem)}
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${xsrf}">
<label for="user_code">The code that your device shows</label>
<input id="user_code" name="user_code" maxlength="32" autocomplete="off" autocapitalize="characters" spellcheck="false" required value="${userCode}"${describedBy}>
<button type="submit">Continue</button>
</form>`,
  };
}

export function confirmPage({
  action,
  xsrf,
  userCode,
  clientName,
}: {
  action: string;
  xsrf: string;
  userCode: string;
  clientName: string;
}): Page {
  return {
    title: 'Compare the code',
    body: html`
<p>Does the device that you want to connect to ${clientName} show this code?</p>
<p class="code">${userCode}</p>
<p>If you did not start this, or the code differs, cancel.</p>
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${xsrf}">
<input type="hidden" name="user_code" value="${userCode}">
<button type="submit" name="confirm" value="yes">Yes, continue</button>
<button type="submit" name="abort" value="yes">Cancel</button>
</form>`,
  };
}

export function successPage(): Page {
  return { title: 'Signed in', body: html`<p>Your device is connected. You may close this page.</p>` };
}

export function errorPage({ code, description }: { code: string; description: string | undefined }): Page {
  return {
    title: 'Sign-in failed',
    body: html`<p role="alert" class="problem">${description ?? 'The request could not be served.'}</p>
<p>Reason: <code>${code}</code></p>`,
  };
}

function accountButton({ email, displayName }: DevAccount, prefix: string): Html {
  return html`<button type="submit" name="email" value="${email}"><span>${prefix}${displayName}</span><span>${email}</span></button>
`;
}

function problemText(problem: string | undefined): Html | undefined {
  return problem === undefined ? undefined : html`<p id="problem" role="alert" class="problem">${problem}</p>`;
}
