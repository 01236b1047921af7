import { decidingWorld } from '@quartermaster/api/test/gateway-decisions/sessions.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorld, type World } from '../testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

/** A gateway whose manifest denies the tool `search`, and the address in the console that a denial of a tool leads to. */
async function deniedWorld() {
  const { server } = world;
  const denied = await decidingWorld(server);
  const { as, gatewayId, providerId, providerName: provider, tenantId, token } = denied;
  const spec = { allow: [{ provider, names: ['other'] }] };
  const manifest = await server.ok('POST', '/v1/manifests', { as, body: { name: 'edge', kind: 'gateway', spec } });
  await server.ok('PUT', `/v1/gateways/${gatewayId}`, { as, body: { manifestId: manifest.id } });
  const decide = async (name: string) => {
    const answer = await server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
      headers: { Authorization: `Bearer ${token}` },
      body: { provider, kind: 'tool', name },
    });
    await server.decisions.flush();
    return answer.body;
  };
  const linkTo = (name: string) => `/inbox?tenant=${tenantId}&provider=${providerId}&kind=tool&name=${name}`;
  return { ...denied, manifest, decide, linkTo };
}

test('the link of a denial opens exactly what was denied, also with other observations beside it', async () => {
  const { decide, linkTo } = await deniedWorld();
  await decide('search');
  await decide('search_all');
  const { observationId } = await decide('search');
  const { page, done } = await world.open(linkTo('search'));
  const panel = page.getByRole('complementary', { name: 'tool search' });
  await panel.waitFor();
  expect(new URL(page.url()).searchParams.get('item')).toBe(observationId);
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  // It stays closed.
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  expect(new URL(page.url()).searchParams.get('item')).toBeNull();
  await done();
});

test('the link of a denial that is not observed yet says so', async () => {
  const { decide, linkTo } = await deniedWorld();
  const { page, done } = await world.open(linkTo('later'));
  await page.getByRole('heading', { name: 'tool later was not observed yet' }).waitFor();
  await decide('later');
  await page.reload();
  await page.getByRole('complementary', { name: 'tool later' }).waitFor();
  await done();
});

test('what a manifest denies is approved and applied at once, and the message takes it back', async () => {
  const { as, decide, linkTo, gatewayId, manifest } = await deniedWorld();
  await decide('search');
  const { page, done } = await world.open(linkTo('search'));
  const panel = page.getByRole('complementary', { name: 'tool search' });
  await panel.getByText('The manifest that denies it gets one entry more').waitFor();
  await panel.getByText('the manifest of a gateway does not allow it').waitFor();
  await panel.getByRole('button', { name: 'Approve and apply' }).click();
  await page.getByText('Approved and applied.').waitFor();
  const manifestOf = async () => (await world.server.ok('GET', `/v1/gateways/${gatewayId}`, { as })).manifestId;
  expect(await manifestOf()).not.toBe(manifest.id);
  await page.getByRole('button', { name: 'Undo the change' }).click();
  await page.getByText('The change was undone.').waitFor();
  expect(await manifestOf()).toBe(manifest.id);
  await done();
});

test('the plan says in words what happens to the manifest', async () => {
  const { as, decide, providerId, tenantId } = await deniedWorld();
  const { observationId } = await decide('search');
  const body = { decision: 'approved' };
  await world.server.ok('POST', `/v1/runtime-observations/${observationId}/review`, { as, body });
  const { page, done } = await world.open(`/providers/${providerId}/plan?tenant=${tenantId}`);
  const change = page.getByRole('listitem').filter({ hasText: 'tool search' });
  await change.getByText('is added to the manifest that denies it').click();
  await change.getByText('the manifest edge at the gateway').waitFor();
  await page.getByRole('button', { name: 'Apply 1 change' }).click();
  await page.getByRole('button', { name: 'Apply all 1' }).click();
  await page.getByText('1 change applied.').waitFor();
  await done();
});
