import type { TestServer } from '@quartermaster/api/test/support/server.ts';
import type { Page } from 'playwright-core';

/** Fills the forms of the development identity provider: the secret of the start, once for each browser, then the email. */
export async function signInByForm(
  page: Page,
  { devSignIn }: Pick<TestServer, 'devSignIn'>,
  email: string,
): Promise<void> {
  await page.waitForURL(/\/oidc\//);
  const [unlock, account] = [page.locator('input[name=secret]'), page.locator('input[name=email]')];
  await unlock.or(account).waitFor();
  if (await unlock.isVisible()) {
    await unlock.fill(new URL(devSignIn?.link ?? '').searchParams.get('secret') ?? '');
    await unlock.press('Enter');
  }
  await account.fill(email);
  await account.press('Enter');
}
