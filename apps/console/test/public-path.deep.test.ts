import { openConsole } from '@quartermaster/api/src/server/console/build.ts';
import { startPrefixProxy } from '@quartermaster/api/test/support/prefix-proxy.ts';
import { startTestServer } from '@quartermaster/api/test/support/server.ts';
import { expect, onTestFinished, test } from 'vitest';
import { launchBrowser } from '../testing/browser.ts';
import { signInByForm } from '../testing/sign-in.ts';
import { openTab, WINDOW } from '../testing/tab.ts';

test.each([
  ['removes the prefix', true],
  ['keeps the prefix', false],
])('the console works below a path of its host, behind a proxy that %s', async (_name, strips) => {
  const proxy = await startPrefixProxy('/quartermaster', { strips });
  const { url } = proxy;
  const server = await startTestServer({ QM_PUBLIC_URL: url, QM_DEV_IDENTITY: '1' }, { openConsole });
  proxy.forwardTo(server.url);
  const browser = await launchBrowser();
  const context = await browser.newContext(WINDOW);
  onTestFinished(async () => {
    await browser.close();
    proxy.close();
    await server.stop();
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();

  const { expectAnswers, done } = await openTab({ context, page }, { url, path: '/' }, () => context.close());
  await signInByForm(page, server, 'admin@example.com');
  await page.getByRole('heading', { level: 1, name: 'Connect an agent' }).waitFor();
  expect(page.url().startsWith(`${url}/console/`)).toBe(true);

  await page.getByRole('combobox', { name: 'Framework or coding agent' }).fill('pydantic');
  await page.getByRole('option', { name: 'Pydantic AI' }).click();
  await page.getByRole('textbox', { name: 'Name of the agent' }).fill('support-triage');
  await page.getByRole('button', { name: 'Create account and key' }).click();
  const setUp = page.getByLabel('Set-up of Pydantic AI').filter({ hasText: 'OTEL_EXPORTER_OTLP_ENDPOINT' });
  expect(await setUp.textContent()).toContain(`OTEL_EXPORTER_OTLP_ENDPOINT=${url} `);

  // A link loads the code of another screen, and a reload starts there.
  await page.getByRole('link', { name: 'Gateways' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Gateways' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/quartermaster/console/gateways');
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Gateways' }).waitFor();
  // Regression: it asked for `/readyz` of the host, and never went on.
  let isReady = false;
  const asked: string[] = [];
  for (const path of ['**/v1/agents?*', '**/readyz']) {
    await page.route(path, (route) => {
      asked.push(new URL(route.request().url()).pathname);
      return isReady
        ? route.continue()
        : route.fulfill({ status: 503, json: { code: 'not_ready', title: 'Not ready' } });
    });
  }
  expectAnswers(503);
  await page.getByRole('link', { name: 'Agents' }).first().click();
  await page.getByRole('heading', { name: 'The server is not ready' }).waitFor();
  await expect.poll(() => asked).toContain('/quartermaster/readyz');
  isReady = true;
  await page.getByText('No agent yet').waitFor();
  await page.getByRole('button', { name: 'More' }).first().click();
  const reference = await page.getByRole('menuitem', { name: 'API reference' }).getAttribute('href');
  expect(reference).toBe('/quartermaster/docs');
  await done();
});
