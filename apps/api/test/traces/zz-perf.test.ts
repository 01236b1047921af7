import { afterAll, beforeAll, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';
import { accountWithKey } from '../support/people.ts';
import { exportRequest, toolRun, chat } from './sending.ts';
let server: TestServer;
beforeAll(async () => { server = await startTestServer(); });
afterAll(() => server.stop());
async function timed(label: string, body: unknown, key: string) {
  let worst = 0; let last = performance.now();
  const timer = setInterval(() => { const n = performance.now(); worst = Math.max(worst, n - last); last = n; }, 5);
  const t = performance.now();
  const a = await server.call('POST', '/v1/traces', { as: { key }, body, unchecked: true });
  const ms = performance.now() - t;
  await new Promise((r) => setTimeout(r, 20));
  clearInterval(timer);
  console.log(label, a.status, a.text.slice(0, 100), Math.round(ms), 'ms; longest block', Math.round(worst));
}
test('figures', { timeout: 600_000 }, async () => {
  for (const n of [2500, 5000, 10000, 20000]) {
    const { key } = await accountWithKey(server, { tenantId: `t${n}` });
    await timed(`tools ${n}`, exportRequest(Array.from({ length: n }, (_, i) => toolRun(`tool-${i}`))), key);
    await timed(`tools again ${n}`, exportRequest(Array.from({ length: n }, (_, i) => toolRun(`tool-${i}`))), key);
  }
  for (const n of [1000, 2000, 4000, 10000, 20000]) {
    const { key } = await accountWithKey(server, { tenantId: `h${n}` });
    await timed(`hosts ${n}`, exportRequest(Array.from({ length: n }, (_, i) => chat(`m`, { 'server.address': `h${i}.example.com` }))), key);
  }
  const { key } = await accountWithKey(server, { tenantId: `same` });
  await timed(`same 20000`, exportRequest(Array.from({ length: 20000 }, () => chat(`m`, { 'gen_ai.provider.name': `openai` }))), key);
});
