import { expect, test } from 'vitest';
import { atOpenai, newTenant } from '../governance/loop-support.ts';
import { serverOfTest } from '../support/server.ts';
import { nowInNanoseconds, sendSpans } from '../telemetry/traces/sending.ts';

test('a flood of unknown names does not keep {} from applying a block', async () => {
  const server = await serverOfTest();
  const tenant = await newTenant(server);
  await sendSpans(
    server,
    tenant.sender,
    Array.from({ length: 1005 }, (_, index) => atOpenai(`flood-${index}`)),
  );
  await tenant.see('gpt-5');
  await tenant.review((await tenant.observation('gpt-5')).id, 'rejected');
  server.travel(1000);
  const start = nowInNanoseconds(server);
  await sendSpans(server, tenant.sender, [{ ...atOpenai('gpt-5'), start }]);
  expect((await tenant.apply()).applied).toMatchObject([{ kind: 'block_item' }]);
});
