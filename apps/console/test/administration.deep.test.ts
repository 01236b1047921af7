import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shownLater } from '../testing/clock.ts';
import { nowInNanoseconds, sendSpans } from '@quartermaster/api/test/telemetry/traces/sending.ts';
import { signInByForm } from '../testing/sign-in.ts';
import { startWorld, type World } from '../testing/world.ts';

const TENANT = 'tenant=northwind';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const read = (path: string) => world.server.ok('GET', path, { as: world.server.admin });

test('a service account gets a key with chosen scopes, which is shown once, rotated with an overlap and revoked', async () => {
  const { page, done } = await world.open(`/accounts?${TENANT}&new=1`);
  await page.getByRole('textbox', { name: 'Id' }).fill('invoice-reader');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'invoice-reader' }).waitFor();
  // A message may lie over a button. A click goes to what is below it, and the message ends with the click.
  const message = page.getByRole('region', { name: 'Messages' }).getByText('invoice-reader');
  const { x, y } = (await message.boundingBox()) ?? { x: 0, y: 0 };
  expect(
    await page.evaluate<boolean>(`document.elementFromPoint(${x + 2}, ${y + 2}).closest('section') === null`),
  ).toBe(true);
  await page.getByRole('button', { name: 'Create a key' }).click();
  expect(await message.count()).toBe(0);
  await page.getByRole('textbox', { name: 'Name' }).fill('first');
  await page.getByRole('checkbox', { name: 'providers:read' }).check();
  await page.getByRole('button', { name: 'Create the key' }).click();
  const secret = await page.getByRole('dialog').locator('pre').innerText();
  expect(secret).toMatch(/^qm_/);
  const { items } = await world.server.ok('GET', '/v1/providers', { as: { key: secret } });
  expect(items.length).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  expect(await page.content()).not.toContain(secret);

  await page.getByRole('row', { name: /first/ }).click({ position: { x: 5, y: 5 } });
  await page.getByRole('button', { name: 'Rotate' }).click();
  await page.getByRole('button', { name: 'Rotate the key' }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await world.server.ok('GET', '/v1/providers', { as: { key: secret } });

  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke the key' }).click();
  await page.getByText('first is revoked.').waitFor();
  const refused = await world.server.call('GET', '/v1/providers', { as: { key: secret } });
  expect(refused.status).toBe(401);
  await done();
});

test('a double click creates one account, and disables it without enabling it again', async () => {
  const { page, done } = await world.open(`/accounts?${TENANT}&new=1`);
  // As behind a proxy that compresses: If-Match still needs the tag of the server.
  await page.route(/\/v1\/service-accounts\/double-click/, async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch({ headers: { ...route.request().headers(), 'sec-fetch-site': 'same-origin' } });
    const headers = response.headers();
    await route.fulfill({ response, headers: { ...headers, etag: `W/${headers['etag']?.replace(/"$/, '-gzip"')}` } });
  });
  await page.getByRole('textbox', { name: 'Id' }).fill('double-click');
  const requests: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') requests.push(new URL(request.url()).pathname);
  });
  await page.getByRole('button', { name: 'Create', exact: true }).dblclick();
  await page.getByRole('heading', { level: 1, name: 'double-click' }).waitFor();
  expect(requests.filter((path) => path === '/v1/service-accounts')).toHaveLength(1);
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('button', { name: 'Disable the account' }).click();
  await page.getByRole('button', { name: 'Enable' }).hover();
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  // The next click is one of its own.
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await page.getByRole('dialog').waitFor();
  expect(await read('/v1/service-accounts/double-click?tenant_id=northwind')).toMatchObject({ status: 'disabled' });
  expect(requests.filter((path) => path.endsWith('able'))).toEqual(['/v1/service-accounts/double-click/disable']);
  await done();
});

test('a view lists the keys that expire this week, and its request can be copied', async () => {
  const { page, context, done } = await world.open(`/accounts?${TENANT}&view=expiring`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('row', { name: /ci-deployer/ }).waitFor();
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Copy as curl' }).click();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toContain('"sort":"expires_at","expiresBefore"');
  await done();
});

test('regression: a leaked key is found if all of it is pasted, and its secret is not in the address', async () => {
  const path = '/v1/service-accounts/ci-deployer/keys?tenant_id=northwind';
  const body = { name: 'leaked', scopes: ['providers:read'] };
  const { key } = await world.server.ok('POST', path, { as: world.server.admin, body });
  const { page, done } = await world.open(`/accounts?${TENANT}&view=keys`);
  await page.getByRole('textbox', { name: 'Search keys' }).fill(key);
  await page.getByText('1 in all').waitFor();
  await page.getByRole('row', { name: /leaked/ }).waitFor();
  expect(page.url()).not.toContain(key.split('_').at(-1));
  await done();
});

const NAMES = /in (two|five|forty) days/;

test('keys that expire are listed with the next one first, within the time that the user chooses', async () => {
  const account = { tenant_id: 'northwind' };
  const path = `/v1/service-accounts/data-platform/keys?${new URLSearchParams(account).toString()}`;
  for (const [name, days] of [
    ['in forty days', 40],
    ['in two days', 2],
    ['in five days', 5],
  ] as const) {
    const expiresAt = new Date(Date.now() + days * 24 * 3_600_000).toISOString();
    await world.server.ok('POST', path, {
      as: world.server.admin,
      body: { name, scopes: ['traces:write'], expiresAt },
    });
  }
  const { page, done } = await world.open(`/accounts?${TENANT}&view=expiring`);
  const rows = page.getByRole('row', { name: NAMES });
  const names = async () => (await rows.allTextContents()).map((text) => NAMES.exec(text)?.[0]);
  await expect.poll(names).toEqual(['in two days', 'in five days']);
  expect(await page.getByRole('columnheader', { name: 'Expires' }).getAttribute('aria-sort')).toBe('ascending');
  await page.getByRole('combobox', { name: 'Within 7 days' }).click();
  await page.getByRole('option', { name: 'Within 90 days' }).click();
  await expect.poll(names).toEqual(['in two days', 'in five days', 'in forty days']);
  await done();
});

test('agents are sorted by tokens from the header of the column, and by name again', async () => {
  const { page, done } = await world.open(`/agents?${TENANT}`);
  const { items } = await world.server.ok('GET', '/v1/agents?tenant_id=northwind&limit=100', {
    as: world.server.admin,
  });
  type Named = { name: string; usage: { inputTokens: number; outputTokens: number } };
  const byName: string[] = items.map(({ name }: Named) => name);
  const tokens = ({ usage }: Named) => usage.inputTokens + usage.outputTokens;
  const byTokens: string[] = items
    .toSorted((a: Named, b: Named) => tokens(b) - tokens(a))
    .map(({ name }: Named) => name);
  expect(byTokens).not.toEqual(byName);
  const first = () => page.getByRole('row').nth(1).getByRole('link').first().textContent();
  await expect.poll(first).toBe(byName[0]);
  const header = page.getByRole('columnheader', { name: 'Tokens' });
  await header.getByRole('button').click();
  await expect.poll(first).toBe(byTokens[0]);
  expect(await header.getAttribute('aria-sort')).toBe('descending');
  expect(new URL(page.url()).searchParams.get('sort')).toBe('tokens');
  await header.getByRole('button').click();
  await expect.poll(first).toBe(byName[0]);
  await done();
});

test("an agent's screen says in which channels people talk to it, declared and seen", async () => {
  const { server } = world;
  const place = { tenantId: 'northwind' };
  const { id } = await server.ok('POST', '/v1/service-accounts', {
    as: server.admin,
    body: { id: 'front-desk', name: 'front-desk', ...place },
  });
  const path = `/v1/service-accounts/${id}/keys?tenant_id=northwind`;
  const { key } = await server.ok('POST', path, { as: server.admin, body: { scopes: ['traces:write'] } });
  const run = (agent: string, channel: string | null) => ({
    name: `invoke_agent ${agent}`,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent,
      ...(channel !== null && { 'openclaw.channel': channel }),
    },
    start: nowInNanoseconds(server),
  });
  const spec = { channels: ['slack', 'email'] };
  await server.ok('POST', '/v1/manifests', {
    as: server.admin,
    body: { name: 'front-desk', kind: 'agent', spec, ...place },
  });
  await sendSpans(server, { key }, [
    run('front-desk', 'slack'),
    run('front-desk', 'telegram'),
    run('quiet-desk', null),
  ]);
  const channelsOf = async (name: string) => {
    const { items } = await read(`/v1/agents?tenant_id=northwind&text=${name}`);
    const { page, done } = await world.open(`/agents/${items[0].id}?${TENANT}`);
    const text = await page.getByRole('region', { name: 'Channels' }).innerText();
    await done();
    return text.replaceAll(/\s+/g, ' ');
  };
  expect(await channelsOf('front-desk')).toMatch(
    /^Channels email declared and silent slack declared and seen .+ telegram seen and undeclared .+/i,
  );
  const { items } = await read('/v1/agents?tenant_id=northwind&text=front-desk');
  const { page, done } = await world.open(`/agents/${items[0].id}?${TENANT}`);
  await page.getByRole('button', { name: 'Declare', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Declare the channel telegram?' });
  await dialog.getByText('gets a new version with telegram as one channel more').waitFor();
  await dialog.getByRole('button', { name: 'Declare it' }).click();
  await page.getByText('Version 2 of the manifest front-desk declares telegram.').waitFor();
  await page.getByRole('region', { name: 'Channels' }).getByText('seen and undeclared').waitFor({ state: 'detached' });
  await done();
  expect(await channelsOf('quiet-desk')).toMatch(/^Channels not reported$/i);
});

test('a gateway is created, and all of its sessions are revoked after a confirmation', async () => {
  const { page, goTo, done } = await world.open(`/gateways?${TENANT}&new=1`);
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('branch-office');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'branch-office' }).waitFor();
  const { items } = await read('/v1/gateways?tenant_id=northwind');
  const { id } = items.find(({ name }: { name: string }) => name === 'branch-office');
  await world.server.ok('POST', `/v1/gateways/${id}/sessions`, { as: world.server.admin, body: {} });
  await goTo(`/gateways/${id}?${TENANT}`);
  await page.getByRole('row').nth(1).waitFor();
  await page.getByRole('button', { name: 'Revoke all sessions' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke all sessions' }).click();
  await page.getByText('1 session revoked.').waitFor();
  expect((await read(`/v1/gateways/${id}/sessions?status=active`)).items).toEqual([]);
  await done();
});

test('a provider without an address does not offer a sync', async () => {
  const body = { name: 'without-address', kind: 'agent_runtime', tenantId: 'northwind' };
  const { id } = await world.server.ok('POST', '/v1/providers', { as: world.server.admin, body });
  const { page, moveTo, done } = await world.open(`/providers/${id}?${TENANT}`);
  await page.getByText('It has no address that a sync could ask. Declare an item by hand.').waitFor();
  await moveTo(`/providers/${id}?${TENANT}&view=syncs`);
  const empty = page.getByRole('heading', { name: 'It was never asked' }).locator('..');
  await empty.getByText('It has no address that a sync could ask.').waitFor();
  await done();
});

test('a provider is disabled and enabled again, and says so', async () => {
  const { items } = await read('/v1/providers?tenant_id=northwind&name=anthropic');
  const path = `/v1/providers/${items[0].id}`;
  const { page, done } = await world.open(`/providers/${items[0].id}?${TENANT}`);
  await page.getByRole('button', { name: 'Disable' }).click();
  const dialog = page.getByRole('dialog', { name: 'Disable anthropic?' });
  const users = dialog.getByRole('list', { name: 'What uses it' });
  await users.getByText(/^\d+ open sessions? of gateways that list it$/).waitFor();
  await users.getByText(/^\d+ agents? in the last 7 days/).waitFor();
  expect(await read(path)).toMatchObject({ status: 'active' });
  await dialog.getByRole('button', { name: 'Disable the provider' }).click();
  await page.getByText('anthropic is disabled.').waitFor();
  expect(await read(path)).toMatchObject({ status: 'disabled' });
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByText('anthropic is enabled.').waitFor();
  expect(await read(path)).toMatchObject({ status: 'active' });
  await done();
});

test('a step back from what was just created leads to the list, without the form', async () => {
  const { page, done } = await world.open(`/gateways?${TENANT}`);
  await page.getByRole('button', { name: 'Create a gateway' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('step-back');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'step-back' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Gateways' }).waitFor();
  await page.getByRole('row', { name: /step-back/ }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(new URL(page.url()).search).toBe(`?${TENANT}`);

  // Nor does it lead to what was deleted.
  await page
    .getByRole('row', { name: /step-back/ })
    .getByRole('link', { name: 'step-back' })
    .click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('step-back was deleted.').waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Gateways' }).waitFor();
  await page.getByRole('row', { name: /step-back/ }).waitFor({ state: 'detached' });
  await done();
});

test('a tenant is deleted once its id was typed', async () => {
  const id = 'deleted-by-hand';
  await world.server.ok('POST', '/v1/tenants', { as: world.server.admin, body: { id } });
  const { page, expectFaultless, done } = await world.open(`/tenants/${id}?tenant=${id}&view=settings`);
  await page.getByRole('button', { name: 'Delete the tenant' }).click();
  const dialog = page.getByRole('dialog');
  const submit = dialog.getByRole('button', { name: 'Delete the tenant' });
  await submit.waitFor();
  expect(await submit.isDisabled()).toBe(true);
  await dialog.getByRole('textbox').fill(id);
  await expectFaultless('the question before a tenant is deleted');
  await submit.click();
  await page.getByText(`${id} was deleted.`).waitFor();
  await page.getByRole('heading', { level: 1, name: 'Tenants' }).waitFor();
  expect(new URL(page.url()).search).toBe('');
  const deleted = await world.server.call('GET', `/v1/tenants/${id}`, { as: world.server.admin });
  expect(deleted.status).toBe(404);
  await done();
});

test('an inventory item is declared, and deleted after a question', async () => {
  const { items } = await read('/v1/providers?tenant_id=northwind&name=anthropic');
  const path = `/v1/providers/${items[0].id}/inventory`;
  const body = { kind: 'model', name: 'declared-in-error' };
  const { id } = await world.server.ok('POST', path, { as: world.server.admin, body });
  const { page, expectFaultless, done } = await world.open(`/providers/${items[0].id}?${TENANT}&item=${id}`);
  const panel = page.getByRole('complementary', { name: 'model declared-in-error' });
  await panel.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('A sync that finds it asks about it again').waitFor();
  await expectFaultless('the question before a deletion');
  await page.getByRole('button', { name: 'Delete the item' }).click();
  await page.getByText('declared-in-error was deleted.').waitFor();
  await panel.waitFor({ state: 'detached' });
  const deleted = await world.server.call('GET', `${path}/${id}`, { as: world.server.admin });
  expect(deleted.status).toBe(404);
  await done();
});

test('a model that nothing declares is blocked by one form', async () => {
  const { items } = await read('/v1/providers?tenant_id=northwind&name=anthropic');
  const { page, expectFaultless, done } = await world.open(`/providers/${items[0].id}?${TENANT}`);
  await page.getByRole('button', { name: 'Declare an item' }).click();
  const form = page.getByRole('dialog');
  await form.getByRole('textbox', { name: 'Name' }).fill('claude-leaked');
  await form.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: 'blocked' }).click();
  await form.getByText('Agents may not use it, and sessions that grant it end.').waitFor();
  await expectFaultless('the form of an item');
  await form.getByRole('button', { name: 'Declare' }).click();
  await page.getByText('claude-leaked is blocked.').waitFor();
  await page.getByRole('row', { name: /blocked claude-leaked/ }).waitFor();
  const { items: found } = await read(`/v1/providers/${items[0].id}/inventory?text=claude-leaked`);
  expect(found).toMatchObject([{ kind: 'model', name: 'claude-leaked', status: 'blocked' }]);
  await done();
});

test('what is used and not declared is blocked from the inbox', async () => {
  const unknown = '/v1/runtime-observations?tenant_id=northwind&view=new&unknown=true&kind=model';
  const { items } = await read(unknown);
  const { id, name, providerId } = items[0];
  const { page, done } = await world.open(`/inbox?${TENANT}&item=${id}`);
  await page.getByRole('link', { name: 'Block it now' }).click();
  const form = page.getByRole('dialog');
  await form.getByRole('button', { name: 'Declare' }).click();
  await page.getByText(`${name} is blocked.`).waitFor();
  const { items: found } = await read(`/v1/providers/${providerId}/inventory?text=${name}`);
  expect(found).toMatchObject([{ kind: 'model', name, status: 'blocked' }]);
  expect(await read(`/v1/runtime-observations/${id}`)).toMatchObject({ unknown: false });
  await done();
});

test('a person gets the rights of the platform and loses them, each after a question', async () => {
  const email = 'priya.nair@northwind.example';
  const rightsOf = async () => (await read(`/v1/users?email=${email}`)).items[0].platformAdministrator;
  const { page, done } = await world.open(`/people?q=${email}`);
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('button', { name: 'Make platform administrator' }).click();
  await page.getByText('every right in every tenant').waitFor();
  expect(await rightsOf()).toBe(false);
  await page.getByRole('button', { name: 'Give every right' }).click();
  await page.getByText('is a platform administrator.').waitFor();
  expect(await rightsOf()).toBe(true);
  await page.getByRole('button', { name: 'Take platform rights' }).click();
  await page.getByRole('button', { name: 'Take the rights away' }).click();
  await page.getByText('is no longer a platform administrator.').waitFor();
  expect(await rightsOf()).toBe(false);
  await done();
});

test('a provider is declared with other names and an interval of its syncs, and both can be changed', async () => {
  const { page, done } = await world.open(`/providers?${TENANT}&new=1`);
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('tickets-of-support');
  const names = page.getByRole('combobox', { name: 'Other names' });
  for (const name of ['ticket server', 'helpdesk-mcp']) {
    await names.fill(name);
    await names.press('Enter');
  }
  await page.getByRole('textbox', { name: 'Address' }).fill('https://tickets.example.com/mcp');
  await page.getByRole('combobox', { name: 'Sync' }).click();
  await page.getByRole('option', { name: 'every 6 hours' }).click();
  await page.getByRole('button', { name: 'Declare', exact: true }).click();
  await page.getByText('also called ticket server, helpdesk-mcp').waitFor();
  await page.getByText(', every 6 hours').waitFor();
  const path = `/v1/providers/${new URL(page.url()).pathname.split('/').at(-1)}`;
  expect(await read(path)).toMatchObject({ aliases: ['ticket server', 'helpdesk-mcp'], syncIntervalSeconds: 21_600 });

  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await names.press('Backspace');
  await page.getByRole('combobox', { name: 'Sync' }).click();
  await page.getByRole('option', { name: 'only on request' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('also called ticket server', { exact: true }).waitFor();
  expect(await read(path)).toMatchObject({ aliases: ['ticket server'], syncIntervalSeconds: null });
  await done();
});

test('a claimed task stays open in its panel, is completed with a note, and is released when the user leaves', async () => {
  const { page, done } = await world.open(`/tasks?${TENANT}&kind=review_observation`);
  await page.getByRole('row').nth(2).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('button', { name: 'Claim', exact: true }).click();
  await page.getByText('You have it for another').waitFor();
  const first = new URL(page.url()).searchParams.get('item');
  await page.getByRole('textbox', { name: 'Note' }).fill('Not for production.');
  await page.getByRole('button', { name: 'Reject' }).click();
  await page.getByText('It has ended.').waitFor();
  expect(await read(`/v1/operator/tasks/${first}`)).toMatchObject({
    status: 'succeeded',
    outcome: 'rejected',
    note: 'Not for production.',
  });

  await page.keyboard.press('j');
  await page.getByRole('button', { name: 'Claim', exact: true }).click();
  await page.getByText('You have it for another').waitFor();
  const second = new URL(page.url()).searchParams.get('item');
  const released = page.waitForResponse((response) => response.url().endsWith(`${second}/claim`));
  await page.keyboard.press('Escape');
  await released;
  const { leaseExpiresAt } = await read(`/v1/operator/tasks/${second}`);
  expect(Date.parse(leaseExpiresAt) - Date.now()).toBeLessThan(61_000);
  await done();
});

test('a task about a credential leads to the key or to the provider that it is of', async () => {
  const { items } = await read('/v1/operator/tasks?tenant_id=northwind&kind=rotate_credential');
  const idOf = (prefix: string): string =>
    items.find(({ subject }: { subject: { id: string } }) => subject.id.startsWith(prefix)).id;
  const { page, moveTo, done } = await world.open(`/tasks?${TENANT}&item=${idOf('key_')}`);
  await page.getByRole('link', { name: /^the key of/ }).click();
  await page.getByRole('complementary').getByRole('button', { name: 'Rotate' }).waitFor();
  await moveTo(`/tasks?${TENANT}&item=${idOf('sec_')}`);
  await page.getByRole('link', { name: 'the credential of the provider' }).click();
  await page.getByRole('button', { name: 'Credential', pressed: true }).waitFor();
  await page.getByText('production').waitFor();
  await done();
});

test('a credential is stored for the address that the form shows, and removed only after a question', async () => {
  const as = world.server.admin;
  const baseUrl = 'https://llm.example.com/v1';
  const body = { name: 'with-credential', kind: 'llm', baseUrl, tenantId: 'northwind' };
  const { id } = await world.server.ok('POST', '/v1/providers', { as, body });
  const secrets = async () =>
    (await world.server.ok('POST', '/v1/credentials/search', { as, body: { providerId: id, status: 'active' } })).items;
  const { page, done } = await world.open(`/providers/${id}?${TENANT}&view=credential`);
  await page.getByRole('button', { name: 'Set a credential' }).click();
  await page.getByText(`sent to ${baseUrl} alone`).waitFor();
  await page.getByLabel('Secret').first().fill('sk-console-secret');
  await page.getByRole('button', { name: 'Store' }).click();
  await page.getByText('The credential was stored.').waitFor();
  expect(await secrets()).toHaveLength(1);
  expect(await page.content()).not.toContain('sk-console-secret');

  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await secrets()).toHaveLength(1);
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByRole('button', { name: 'Remove the credential' }).click();
  await page.getByText('The credential was removed.').waitFor();
  expect(await secrets()).toEqual([]);
  await done();
});

test('a known vendor fills in its address and headers, and a secret header is shown by its name alone', async () => {
  const { page, done } = await world.open(`/providers?${TENANT}&new=1`);
  const addresses = {
    Gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
    Ollama: 'http://localhost:11434/v1',
    Together: 'https://api.together.xyz/v1',
  };
  for (const [label, address] of Object.entries(addresses)) {
    await page.getByRole('combobox', { name: 'Known vendor' }).click();
    await page.getByRole('option', { name: label }).click();
    await expect.poll(() => page.getByRole('textbox', { name: 'Address' }).inputValue()).toBe(address);
  }
  await page.getByRole('combobox', { name: 'Known vendor' }).click();
  await page.getByRole('option', { name: 'Anthropic' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('claude-of-support');
  await page.getByRole('combobox', { name: 'New items' }).click();
  await page.getByRole('option', { name: 'are available at once' }).click();
  await page.getByRole('button', { name: 'Declare', exact: true }).click();
  await page.getByText('sends anthropic-version: 2023-06-01').waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1);
  expect(await read(`/v1/providers/${id}`)).toMatchObject({
    kind: 'llm',
    baseUrl: 'https://api.anthropic.com/v1',
    newItems: 'allow',
    headers: [{ name: 'anthropic-version', value: '2023-06-01' }],
  });

  await page.getByRole('button', { name: 'Credential', exact: true }).click();
  await page.getByRole('button', { name: 'Set a credential' }).click();
  expect(await page.getByRole('textbox', { name: 'Header' }).inputValue()).toBe('x-api-key');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Set a secret header' }).click();
  await page.getByRole('textbox', { name: 'Header' }).fill('x-organization');
  await page.getByRole('textbox', { name: 'Value' }).fill('org-console-secret');
  await page.getByRole('button', { name: 'Store' }).click();
  await page.getByText('The header x-organization was stored.').waitFor();
  await page.getByRole('button', { name: 'Remove x-organization' }).waitFor();
  expect(await page.content()).not.toContain('org-console-secret');
  await page.getByRole('button', { name: 'Remove x-organization' }).click();
  await page.getByRole('button', { name: 'Remove the header' }).click();
  await page.getByText('The header x-organization was removed.').waitFor();
  await page.getByRole('button', { name: 'Remove x-organization' }).waitFor({ state: 'detached' });
  await done();
});

test('a failing provider says since when and why, in the list and on its screen', async () => {
  const as = world.server.admin;
  const body = { name: 'fails-always', kind: 'llm', baseUrl: 'http://127.0.0.1:9/v1', tenantId: 'northwind' };
  const { id } = await world.server.ok('POST', '/v1/providers', { as, body });
  expect((await world.server.call('POST', `/v1/providers/${id}/sync`, { as })).status).toBe(502);
  const { healthReason } = await read(`/v1/providers/${id}`);
  const { page, moveTo, done } = await world.open(`/providers?${TENANT}`);
  const row = page.getByRole('row').filter({ hasText: 'fails-always' });
  await row.getByText(`since just now: ${healthReason}`).waitFor();
  await moveTo(`/providers/${id}?${TENANT}`);
  await page.getByText(`since just now: ${healthReason}`).waitFor();
  await done();
});

test('a dialog gives the focus back to the button that opened it, when it is cancelled and when it is saved', async () => {
  const as = world.server.admin;
  const body = { name: 'edited-by-keys', kind: 'mcp', tenantId: 'northwind' };
  const { id } = await world.server.ok('POST', '/v1/providers', { as, body });
  const { page, done } = await world.open(`/providers/${id}?${TENANT}`);
  const change = page.getByRole('button', { name: 'Change', exact: true });
  const isFocused = (button: Locator) => button.evaluate((element) => element === element.ownerDocument.activeElement);
  await change.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await expect.poll(() => isFocused(change)).toBe(true);
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: 'Description' }).fill('Changed.');
  await page.getByRole('textbox', { name: 'Display name' }).press('Enter');
  await page.getByText('edited-by-keys was saved.').waitFor();
  await expect.poll(() => isFocused(change)).toBe(true);
  const remove = page.getByRole('button', { name: 'Delete', exact: true });
  await remove.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  // The button that changes nothing gets the focus.
  await expect.poll(() => isFocused(page.getByRole('button', { name: 'Cancel' }))).toBe(true);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await expect.poll(() => isFocused(remove)).toBe(true);
  await done();
});

test('keyboards go on where they were after a button was pressed that waits, opens another dialog or ends a record', async () => {
  const as = world.server.admin;
  const body = { id: 'by-keys', name: 'by-keys', tenantId: 'northwind' };
  await world.server.ok('POST', '/v1/service-accounts', { as, body });
  const path = '/v1/service-accounts/by-keys/keys?tenant_id=northwind';
  await world.server.ok('POST', path, { as, body: { name: 'used', scopes: ['traces:write'] } });
  const { page, settled, done } = await world.open(`/accounts/by-keys?${TENANT}&of=northwind`);
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  const press = async (name: string) => {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
  };
  const dialogIsClosed = () => page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('row', { name: /traces:write/ }).waitFor();
  await page.keyboard.press('j');
  await press('Rotate');
  await press('Rotate the key');
  await page.getByRole('dialog').getByLabel('Key', { exact: true }).getByText(/^qm_/).waitFor();
  await press('I have stored it');
  await dialogIsClosed();
  await expect.poll(focused).toBe('Rotate');
  await press('Revoke');
  await press('Revoke the key');
  await dialogIsClosed();
  await page.getByText('It is revoked already.').first().waitFor();
  await settled();
  expect(await focused()).toBe('Revoke');
  await press('Disable');
  await press('Disable the account');
  await page.getByText('by-keys is disabled.').waitFor();
  await settled();
  expect(await focused()).toBe('Enable');
  await done();
});

test('tasks are worked through with the keyboard alone', async () => {
  const { page, done } = await world.open(`/tasks?${TENANT}&kind=review_observation`);
  await page.getByRole('row').nth(2).waitFor();
  const panel = page.getByRole('complementary');
  const ids: string[] = [];
  for (const [key, outcome] of [
    ['r', 'rejected'],
    ['i', 'ignored'],
  ] as const) {
    await page.keyboard.press('j');
    await panel.getByText('open', { exact: true }).waitFor();
    ids.push(new URL(page.url()).searchParams.get('item') ?? '');
    await page.keyboard.press('c');
    await panel.getByRole('timer').waitFor();
    await page.keyboard.press(key);
    await panel.getByText('It has ended.').waitFor();
    expect(await read(`/v1/operator/tasks/${ids.at(-1)}`)).toMatchObject({ status: 'succeeded', outcome });
  }
  expect(new Set(ids).size).toBe(2);
  // The decision waits for the answer to the claim.
  await page.keyboard.press('j');
  await panel.getByText('open', { exact: true }).waitFor();
  await page.keyboard.press('c');
  await page.keyboard.press('i');
  await panel.getByText('It has ended.').waitFor();
  // A button that leaves the page with the end of its task leaves the focus in the panel.
  await page.keyboard.press('j');
  await panel.getByText('open', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Ignore' }).focus();
  await page.keyboard.press('Enter');
  await panel.getByText('It has ended.').waitFor();
  await expect.poll(() => panel.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  // Without Enter, the buttons of the panel would be behind all rows.
  await page.keyboard.press('j');
  await panel.getByText('open', { exact: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await page.evaluate<boolean>("document.activeElement.closest('aside') !== null")).toBe(true);
  await done();
});

test('the panel of a task shows that another person has claimed it meanwhile', async () => {
  const { page, done } = await world.open(`/tasks?${TENANT}&kind=adopt_provider`, { ownWindow: true });
  await page.clock.install();
  await page.reload();
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('button', { name: 'Claim', exact: true }).waitFor();
  const id = new URL(page.url()).searchParams.get('item');
  await world.server.ok('POST', `/v1/operator/tasks/${id}/claim`, { as: world.server.admin, body: {} });
  await shownLater(page.getByText('Claimed for another'));
  await done();
});

test('the audit can be filtered by an event, verified, and saved as a file', async () => {
  const { page, done } = await world.open(`/audit?${TENANT}&operation=create_manifest`);
  await page.getByText('The chain is intact').waitFor();
  await page.getByRole('row').nth(1).waitFor();
  await page.keyboard.press('j');
  await page.getByRole('button', { name: 'All about this target' }).click();
  await page.waitForURL(/target=man_/);
  await page.getByText('1 in all').waitFor();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save as CSV' }).click();
  const download = await saved;
  expect(download.suggestedFilename()).toMatch(/^audit-.*\.csv$/);
  await page.getByText('Saved 1 row.').waitFor();
  await done();
});

test('the audit suggests the operations that exist while the user types, and is filtered by the chosen one', async () => {
  const { page, moveTo, expectAnswers, done } = await world.open(`/audit?${TENANT}`);
  const box = page.getByRole('combobox', { name: 'Operation' });
  await box.fill('runtime observations');
  const options = page.getByRole('option');
  await options.filter({ hasText: 'Review many runtime observations' }).waitFor();
  expect(await options.allTextContents()).toEqual(
    [
      'List the runtime observations of a provider',
      'List runtime observations',
      'Count runtime observations that need a decision',
      'Group runtime observations by provider or agent',
      'Review many runtime observations',
    ].toSorted((a, b) => a.localeCompare(b, 'en')),
  );
  await box.fill('review a runtime');
  await box.press('ArrowDown');
  await box.press('Enter');
  await page.waitForURL(/operation=review_runtime_observation$/);
  await page
    .getByRole('row', { name: /(Approved|Rejected|Ignored)/ })
    .first()
    .waitFor();
  expect(await box.inputValue()).toBe('Review a runtime observation');
  expectAnswers(422);
  await moveTo(`/audit?${TENANT}&operation=of_another_version`);
  await page.getByText(/operation: Input should be 'accept_membership'/).waitFor();
  expect(await box.inputValue()).toBe('of_another_version');
  await done();
});

test('a member is invited, gets another role and is removed', async () => {
  const { page, done } = await world.open(`/tenants/northwind?${TENANT}`);
  await page.getByRole('button', { name: 'Invite a person' }).click();
  await page.getByRole('textbox', { name: 'Email' }).fill('new.member@northwind.example');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  const role = page.getByRole('combobox', { name: 'Role of new.member@northwind.example' });
  await role.click();
  await page.getByRole('option', { name: 'admin' }).click();
  const question = page.getByRole('dialog', { name: 'Make new.member@northwind.example admin?' });
  await question.getByText('viewer → admin').waitFor();
  await question.getByRole('button', { name: 'Make them admin' }).click();
  await page.getByText('new.member@northwind.example is admin now.').waitFor();
  // Fewer rights are given at once, and can be taken back.
  await role.click();
  await page.getByRole('option', { name: 'viewer' }).click();
  await page.getByText('new.member@northwind.example is viewer now.').waitFor();
  await page.getByRole('button', { name: 'Undo' }).last().click();
  await expect.poll(() => role.inputValue()).toBe('admin');
  await page
    .getByRole('row', { name: /new\.member/ })
    .getByRole('button', { name: 'Remove' })
    .click();
  await page.getByText('The invitation is withdrawn.').waitFor();
  await page.getByRole('button', { name: 'Remove the member' }).click();
  await role.waitFor({ state: 'detached' });
  await done();
});

test('an invitation makes a viewer unless a role is chosen, explains the roles, and has a link to send', async () => {
  const email = 'invited.viewer@example.org';
  const { page, expectFaultless, done } = await world.open(`/tenants/northwind?${TENANT}&new=1`);
  const form = page.getByRole('dialog', { name: /^Invite a person/ });
  await form.getByRole('textbox', { name: 'Email' }).fill(email);
  expect(await form.getByRole('radio', { name: 'viewer' }).isChecked()).toBe(true);
  for (const role of ['viewer', 'operator', 'admin', 'owner']) {
    await form.getByText(new RegExp(`^${role} (May|Has) .+`)).waitFor();
  }
  await expectFaultless('the form of an invitation');
  await form.getByRole('button', { name: 'Invite', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: `${email} is invited` });
  const link = (await dialog.getByLabel('Link').textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Copy' }).waitFor();
  await expectFaultless('the link of an invitation');
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: `Copy the link for ${email}` }).waitFor();
  await done();

  // The invited person has no session and no account.
  const { pathname, search } = new URL(link);
  expect(pathname).toMatch(/^\/console\//);
  const invited = await world.open(pathname.replace('/console', '') + search, { as: null });
  await signInByForm(invited.page, world.server, email);
  await invited.page.getByRole('button', { name: 'Accept the terms' }).click();
  await invited.page.getByRole('button', { name: 'Accept', exact: true }).click();
  await invited.page.getByText('You are a member of northwind.').waitFor();
  await invited.done();
});

test('the settings of a tenant are saved', async () => {
  const { page, done } = await world.open(`/tenants/northwind?${TENANT}&view=settings`);
  await page.getByRole('textbox', { name: 'Days that usage is kept' }).fill('365');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').getByText('Days that usage is kept: 400 → 365').waitFor();
  await page.getByRole('button', { name: 'Save and remove it' }).click();
  await page.getByText('The settings were saved.').waitFor();
  expect((await read('/v1/tenants/northwind')).settings).toMatchObject({ usageRetentionDays: 365 });
  await done();
});

test('a retention that the API refuses is refused at its field, and a shorter one says how many traces go', async () => {
  const { page, expectFaultless, done } = await world.open(`/tenants/northwind?${TENANT}&view=settings`);
  const days = page.getByRole('textbox', { name: 'Days that traces are kept' });
  const before = (await read('/v1/tenants/northwind')).settings.spanRetentionDays;
  for (const refused of ['0', '-5', '4000']) {
    await days.fill(refused);
    await days.blur();
    await page.getByText('Enter a whole number of days from 1 to 3,650, or leave it empty.').waitFor();
    expect(await days.inputValue()).toBe(refused);
    await page.getByText('A field has a value that is refused.').waitFor({ state: 'attached' });
  }
  await days.fill('1');
  await page.getByRole('button', { name: 'Save' }).click();
  const question = page.getByRole('dialog', { name: 'Keep less?' });
  const { tracesToRemove } = await read('/v1/tenants/northwind/usage?span_retention_days=1');
  await question.getByText(`${tracesToRemove} traces will be removed.`).waitFor();
  await expectFaultless('the question before a retention is shortened');
  await question.getByRole('button', { name: 'Cancel' }).click();
  expect((await read('/v1/tenants/northwind')).settings.spanRetentionDays).toBe(before);
  await done();
});

test('the audit is filtered by the name of a person and by what was decided, and its targets lead to their screens', async () => {
  const { page, moveTo, done } = await world.open(`/audit?${TENANT}`);
  const rows = page.getByRole('table', { name: 'Audit events' }).getByRole('row');
  await rows.nth(1).waitFor();
  const box = page.getByRole('combobox', { name: 'Actor' });
  await box.fill('FISCH');
  await page.getByRole('option', { name: /^Ada Fischer, ada\.fischer@/ }).click();
  await page.waitForURL(/actor=usr_/);
  await expect.poll(() => box.inputValue()).toBe('Ada Fischer');
  await expect
    .poll(async () => (await rows.allTextContents()).slice(1).every((row) => row.includes('Ada Fischer')))
    .toBe(true);
  await moveTo(`/audit?${TENANT}`);
  await page.getByRole('combobox', { name: 'Decision' }).click();
  await page.getByRole('option', { name: 'Approved' }).click();
  await page.waitForURL(/decision=approved/);
  const { items } = await read('/v1/audit-events?tenant_id=northwind&decision=approved&limit=1');
  const link = rows.nth(1).getByRole('link', { name: items[0].target.name });
  await link.click();
  await page.waitForURL(new RegExp(`item=${items[0].target.id}`));
  await page.getByRole('complementary').getByRole('heading', { name: items[0].target.name }).waitFor();
  await done();
});

test('a deleted record has its name in the audit, and no link', async () => {
  const as = world.server.admin;
  const gateway = await world.server.ok('POST', '/v1/gateways', {
    as,
    body: { name: 'short-lived', tenantId: 'northwind' },
  });
  await world.server.ok('DELETE', `/v1/gateways/${gateway.id}`, { as });
  const { page, done } = await world.open(`/audit?${TENANT}&target=${gateway.id}`);
  const row = page.getByRole('row').filter({ hasText: 'Deleted a gateway' });
  await row.getByText('short-lived').waitFor();
  await row.getByText('deleted gateway').waitFor();
  expect(await row.getByRole('link', { name: 'short-lived' }).count()).toBe(0);
  await done();
});

test('an audit event shows the role before and after', async () => {
  const { page, expectFaultless, done } = await world.open(`/audit?${TENANT}&operation=update_membership`);
  await page.getByText('role: viewer → admin').first().waitFor();
  await page.keyboard.press('j');
  await page.getByRole('complementary').getByText('viewer → admin').waitFor();
  await expectFaultless('an audit event with values');
  await done();
});

test('a session says which of its grants are of a disabled provider', async () => {
  const as = world.server.admin;
  const body = { name: 'switched-off', kind: 'mcp', tenantId: 'northwind' };
  const { id } = await world.server.ok('POST', '/v1/providers', { as, body });
  await world.server.ok('POST', `/v1/providers/${id}/inventory`, { as, body: { kind: 'tool', name: 'search' } });
  const gateway = { name: 'with-switched-off', tenantId: 'northwind', providerIds: [id] };
  const { id: gatewayId } = await world.server.ok('POST', '/v1/gateways', { as, body: gateway });
  const session = await world.server.ok('POST', `/v1/gateways/${gatewayId}/sessions`, { as, body: {} });
  await world.server.ok('PUT', `/v1/providers/${id}`, { as, body: { status: 'disabled' } });
  const { page, expectFaultless, done } = await world.open(`/gateways/${gatewayId}?${TENANT}&item=${session.id}`);
  await page.getByText('Grants 1 item of a disabled provider.').waitFor();
  await expectFaultless('a session of a disabled provider');
  await done();
});

test('no button that ends something stands beside the primary one', async () => {
  const { page, moveTo, done } = await world.open(`/accounts?${TENANT}`);
  const ids = async (path: string) => (await read(`${path}?tenant_id=northwind&limit=1`)).items[0].id;
  const screens = [
    `/providers/${await ids('/v1/providers')}?${TENANT}`,
    `/gateways/${await ids('/v1/gateways')}?${TENANT}`,
    `/manifests/${await ids('/v1/manifests')}?${TENANT}`,
    `/accounts/ci-deployer?${TENANT}&of=northwind`,
  ];
  for (const screen of screens) {
    await moveTo(screen);
    await page.locator('.qm-danger').first().waitFor();
    const gaps = await page.evaluate<number[]>(`[...document.querySelectorAll('.qm-danger')].map((danger) => {
      const { right, top } = danger.getBoundingClientRect();
      const others = [...document.querySelectorAll('header button:not(.qm-danger)')].map((one) => one.getBoundingClientRect());
      return Math.min(...others.filter((one) => Math.abs(one.top - top) < 4 && one.left >= right).map((one) => one.left - right));
    })`);
    for (const gap of gaps) expect(gap, screen).toBeGreaterThanOrEqual(24);
  }
  await done();
});

test('the limits of a tenant are shown with their usage, and can be set', async () => {
  const { page, done } = await world.open(`/tenants/northwind?${TENANT}&view=limits`);
  // The accounts whose spans are stored, the largest first.
  const { largestAccounts } = await read('/v1/tenants/northwind/usage');
  const accounts = page.getByRole('table', { name: 'Accounts whose spans take the most stored bytes' });
  await accounts.getByRole('rowheader').first().waitFor();
  const names = await accounts.getByRole('rowheader').allTextContents();
  expect(names.map((name) => `service_account:${name}`)).toEqual(
    largestAccounts.map(({ account }: { account: string }) => account),
  );
  expect(await accounts.getByRole('cell', { name: /^[\d.]+ [KM]?i?B$/ }).count()).toBe(largestAccounts.length);
  await page.getByRole('button', { name: 'Change the limits' }).click();
  await page.getByRole('textbox', { name: 'Gateways' }).fill('50');
  await page.getByRole('button', { name: 'Set the limits' }).click();
  await page.getByText('The limits were set.').waitFor();
  expect((await read('/v1/tenants/northwind/usage')).gateways).toMatchObject({ limit: 50, isDefault: false });
  await done();
});

test('a manifest shows what it declares and what it allows: no list means everything, an empty one nothing', async () => {
  const items = [{ provider: 'openai' }, { provider: 'github', kind: 'tool', names: ['get_*', 'search'] }];
  const none = [{ provider: 'openai', names: [] }];
  const declares = [{ provider: 'openai', kind: 'model', name: 'gpt-5' }];
  const channel = { type: 'email', address: 'a@b.example' };
  const cases = [
    {
      kind: 'gateway',
      spec: { owner: 'The platform team' },
      shown: ['The platform team', 'Every item of the gateway’s'],
    },
    { kind: 'gateway', spec: { allow: [] }, shown: ['Nothing, because “allow” is empty.'] },
    { kind: 'gateway', spec: { allow: none, declares }, shown: ['openai: nothing', 'Declared at openai', 'gpt-5'] },
    {
      kind: 'channel',
      spec: { channel, allow: items },
      shown: ['email, a@b.example', 'github: each tool named get_*, search'],
    },
    { kind: 'agent', spec: {}, shown: ['A gateway with this manifest grants every item of its providers.'] },
    { kind: 'agent', spec: { declares: [] }, shown: ['A gateway with this manifest grants nothing.'] },
  ];
  const { page, moveTo, expectFaultless, done } = await world.open(`/manifests?${TENANT}`);
  for (const [index, { kind, spec, shown }] of cases.entries()) {
    const body = { name: `shown-${index}`, kind, tenantId: 'northwind', spec };
    const { id } = await world.server.ok('POST', '/v1/manifests', { as: world.server.admin, body });
    await moveTo(`/manifests/${id}?${TENANT}`);
    for (const text of shown) await page.getByText(text).waitFor();
    await expectFaultless(body.name);
  }
  await done();
});

test('a new version of a manifest is validated, published, and compared with the former one', async () => {
  const { page, done } = await world.open(`/manifests?${TENANT}&kind=agent`);
  await page.getByRole('row').nth(1).getByRole('link').first().click();
  await page.getByRole('button', { name: 'Write a new version' }).click();
  const editor = page.getByRole('textbox', { name: 'Manifest as JSON' });
  const publish = page.getByRole('button', { name: 'Make it active' });
  // Does not use `fill`, with which the browser copies the colours of the replaced text into inline styles.
  const write = async (text: string) => {
    await editor.press('Control+a');
    await editor.press('Delete');
    await page.keyboard.insertText(text);
  };
  await write('{ "alow": [] }');
  await page.getByText('alow is not a field here.').first().waitFor();
  expect(await publish.isDisabled()).toBe(true);
  await write('{ "owner": "The platform team", "declares": [] }');
  await publish.click();
  await page.getByText(/Version \d+ of .* is active\./).waitFor();
  await page.getByRole('button', { name: 'Versions' }).click();
  await page.getByRole('list', { name: 'Versions' }).getByText('superseded').waitFor();
  await page.getByText('From version 1 to version 2').waitFor();
  await done();
});
