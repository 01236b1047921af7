import { obtainToken } from '@quartermaster/dev-identity/sign-in.ts';
import SqliteDatabase from 'better-sqlite3';
import { expect } from 'vitest';
import { mintApiKey } from '../src/auth/api-key-format.ts';
import { wire } from './support/wire.ts';

/** A log line. */
export type Line = Record<string, unknown>;

/** What was sent: the secrets by name, and the status of each answer. */
type SentSecrets = { secrets: Record<string, string>; statuses: number[] };

/**
 * Sends requests with secrets in each of their parts, which have any outcome. For the last of them tables are missing in the
 * database file, so they fail unexpectedly.
 *
 * @param bodies `each for each caller` takes about 500 requests, and `one for each caller` a quarter of them
 */
export async function sendSecrets(
  { url, admin, file }: { url: string; admin: string; file: string },
  { bodies: sentBodies }: { bodies: 'each for each caller' | 'one for each caller' },
): Promise<SentSecrets> {
  const { accessToken } = await obtainToken({ issuer: `${url}/oidc`, email: 'admin@example.com' });
  const unknownKey = mintApiKey('key_00000000000000000000000001').key;
  const [head, payload, signature] = accessToken.split('.');
  const forged = `${head}.${payload}.c2VjcmV0LXNpZ25hdHVyZQ`;
  const secrets = {
    admin,
    accessToken,
    unknownKey,
    forged,
    payload: payload ?? '',
    // Parts of credentials must not be there either.
    'end of admin': admin.slice(-40),
    'signature of accessToken': signature ?? '',
    password: 'correct-horse-battery',
    cookie: 'c00kie-s3cret',
    query: 'qu3ry-s3cret',
    email: 'private@example.com',
    metadata: 'm3tadata-s3cret',
    basic: 'YmFzaWM6czNjcmV0',
    header: 'h3ader-s3cret',
  };
  const statuses: number[] = [];
  const send = async (method: string, target: string, credentials: Record<string, string>, body?: string) => {
    const headers = {
      ...credentials,
      cookie: `session=${secrets.cookie}`,
      'x-custom': secrets.header,
      'content-type': 'application/json',
    };
    const mark = target.includes('?') ? '&' : '?';
    const marked = `${target}${mark}access_token=${secrets.query}&api_key=${unknownKey}&password=${secrets.password}`;
    statuses.push((await wire(url, { method, target: marked, headers, ...(body !== undefined && { body }) })).status);
  };
  const callers = [
    { 'x-api-key': admin },
    { 'x-api-key': unknownKey },
    { authorization: `Bearer ${accessToken}` },
    { authorization: `Bearer ${forged}` },
    { authorization: `Basic ${secrets.basic}` },
    { 'x-api-key': admin, authorization: `Bearer ${accessToken}` },
    {},
  ];
  const account = { name: 'x', metadata: { token: secrets.metadata } };
  const person = { user: { email: secrets.email, displayName: secrets.metadata } };
  const bodies = [
    ...[account, { ...account, password: secrets.password }, { name: [secrets.password] }, person].map((body) =>
      JSON.stringify(body),
    ),
    `{"name":"${secrets.password}`,
    `"${secrets.password}"`,
    `{"${secrets.password}":"\\u0000"}`,
  ];
  const everything = async () => {
    for (const [index, credentials] of callers.entries()) {
      await send('GET', '/v1/providers', credentials);
      // Written in the place of an id.
      await send('DELETE', `/v1/service-accounts/bot/keys/${unknownKey}`, credentials);
      await send('GET', `/v1/gateways/edge/sessions/${accessToken}`, credentials);
      await send('GET', `/v1/providers?cursor=${secrets.query}&limit=${secrets.query}`, credentials);
      await send(
        'GET',
        `/trpc/providers.list?input=${encodeURIComponent(`{"query":{"name":"${secrets.query}"}}`)}`,
        credentials,
      );
      const chosen = sentBodies === 'each for each caller' ? bodies : bodies.slice(index, index + 1);
      for (const body of chosen) {
        await send('POST', '/v1/service-accounts', credentials, body);
        await send('POST', '/v1/onboarding/register', credentials, body);
        await send('POST', '/trpc/serviceAccounts.create', credentials, `{"body":${body}}`);
        await send('POST', '/v1/traces', credentials, body);
      }
    }
  };
  await everything();
  const db = new SqliteDatabase(file);
  db.exec(
    'drop table service_account_metadata; drop table audit_events; drop table inventory_items; drop table providers',
  );
  db.close();
  await everything();
  expect(new Set(statuses)).toEqual(new Set([200, 400, 401, 422, 500]));
  return { secrets, statuses };
}

/** Expects a line for each request, lines of unexpected errors, and no secret in any of them. */
export function expectNoSecrets(lines: readonly Line[], { secrets, statuses }: SentSecrets): void {
  expect(lines.filter(({ msg }) => msg === 'request failed').length).toBeGreaterThan(0);
  expect(lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThanOrEqual(statuses.length);
  const output = JSON.stringify(lines);
  for (const [name, secret] of Object.entries(secrets)) expect(output.includes(secret), name).toBe(false);
}
