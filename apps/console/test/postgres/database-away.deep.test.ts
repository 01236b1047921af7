import { newTestDatabase, type TestDatabase } from '@quartermaster/db/testing/test-database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cut, startCut } from '../../testing/cut-connections.ts';
import { startLoop } from '../../testing/loop.ts';
import { startWorld, type World } from '../../testing/world.ts';

let database: TestDatabase;
let connections: Cut;
let world: World;

beforeAll(async () => {
  database = await newTestDatabase('migrated');
  connections = await startCut(database.url);
  world = await startWorld({ isSeeded: false, environment: { DATABASE_URL: connections.url } });
});
afterAll(async () => {
  await world.close();
  await connections.close();
  await database.remove();
});

test('while the database is unreachable the console shows a message and keeps its contents; then it recovers by itself', async () => {
  const loop = await startLoop(world.server);
  await loop.use('gpt-5', 'o9-preview', 'o9-dark');
  const { email } = await loop.operator();
  const { page, context, expectAnswers, expectFaultless, done } = await world.open(`/inbox?tenant=${loop.tenantId}`, {
    as: email,
  });
  await page.getByRole('row', { name: /o9-preview/ }).click({ position: { x: 300, y: 18 } });
  const panel = page.getByRole('complementary');
  const note = panel.getByRole('textbox', { name: 'Note' });
  await note.fill('Asked for by billing.');

  connections.cut();
  expectAnswers(503);
  await panel.getByRole('button', { name: 'Approve', exact: true }).click();
  await page
    .getByRole('region', { name: 'Messages' })
    .getByText(/database/)
    .waitFor();
  expect(await page.getByRole('row', { name: /o9-/ }).count()).toBe(2);
  expect(await note.inputValue()).toBe('Asked for by billing.');
  await expectFaultless('while the database is away');

  // A page that is opened now says what is wrong, and does not ask to sign in.
  const second = await context.newPage();
  await second.goto(page.url());
  await second.getByRole('heading', { name: 'The server is not ready' }).waitFor();

  connections.restore();
  await expect.poll(async () => (await world.server.call('GET', '/readyz')).status).toBe(200);
  await second.getByRole('row', { name: /o9-preview/ }).waitFor();
  await second.close();
  await panel.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('o9-preview: approved.').waitFor();
  expect((await loop.observationOf('o9-preview')).review).toMatchObject({
    decision: 'approved',
    note: 'Asked for by billing.',
  });
  await done();
});
