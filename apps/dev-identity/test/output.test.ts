import { expect, test, vi } from 'vitest';
import { createHttpSession } from '../src/http-session.ts';
import { obtainToken } from '../src/sign-in.ts';
import { CLIENT_ID, open, startServer } from './server.ts';

// In a separate file, because the library prints each notice once in a process.
test('a start, a sign-in, a device flow and an error print nothing', async () => {
  const spies = [
    ...(['log', 'info', 'warn', 'error'] as const).map((method) => vi.spyOn(console, method)),
    vi.spyOn(process, 'emitWarning'),
  ];
  const { issuer, close } = await startServer();
  const { accessToken } = await obtainToken({ issuer, email: 'admin@example.com' });
  await fetch(`${issuer}/me`, { headers: { authorization: `Bearer ${accessToken}`, origin: 'http://127.0.0.1:5173' } });
  const client = new URLSearchParams({ client_id: CLIENT_ID });
  await fetch(`${issuer}/device/auth`, { method: 'POST', body: client, headers: { origin: 'http://127.0.0.1:5173' } });
  await open(createHttpSession(), `${issuer}/device`);
  await open(createHttpSession(), `${issuer}/auth`);
  await fetch(`${issuer}/nowhere`);
  await close();
  for (const spy of spies) expect(spy).not.toHaveBeenCalled();
});
