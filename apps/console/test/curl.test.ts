import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { apiPath, curlOf, shellQuoted } from '../src/data/curl.ts';

/** The words that a shell makes of a command, with `curl` as a function that prints them. */
function wordsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
  const env = { PATH: process.env['PATH'], QM: 'http://127.0.0.1:8080', KEY: 'qm_key' };
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env }).split('\0').slice(0, -1);
}

const HOSTILE = [
  '$(touch /tmp/pwned)',
  '`id`',
  '$HOME',
  "it's",
  "'; id; '",
  '"; id; "',
  'two\nlines',
  String.raw`back\slash`,
  'a b;c&d|e>f',
  '../../x?y#z',
  '!!',
];

test.each(HOSTILE)('regression: a shell gets the id %j of a copied request as it is', (id) => {
  const body = { note: id };
  const request = { method: 'POST', path: apiPath`/v1/gateways/${id}/sessions`, query: { name: id }, body } as const;
  const words = wordsOf(curlOf(request));
  const url = words[3] ?? '';
  expect(words).toEqual([
    '-sS',
    '-X',
    'POST',
    url,
    '-H',
    'X-API-Key: qm_key',
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify(body),
  ]);
  const { origin, pathname, searchParams } = new URL(url);
  expect(origin).toBe('http://127.0.0.1:8080');
  expect(pathname.split('/').map(decodeURIComponent)).toEqual(['', 'v1', 'gateways', id, 'sessions']);
  expect(searchParams.get('name')).toBe(id);
});

test.each(HOSTILE)('a shell gets the path of a copied request as it is, also if %j in it was not encoded', (id) => {
  expect(wordsOf(curlOf({ method: 'GET', path: `/v1/agents/${id}` }))[1]).toBe(`http://127.0.0.1:8080/v1/agents/${id}`);
  expect(wordsOf(`curl ${shellQuoted(id)}`)).toEqual([id]);
});
