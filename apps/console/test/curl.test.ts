import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { clientSnippet, sessionCommand } from '../src/screens/gateways/client-snippets.ts';
import { apiPath, curlOf, shellQuoted } from '../src/data/curl.ts';

/** The words that a shell makes of a command, with `curl` and `claude` as functions that print them. */
function wordsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\nclaude() { curl "$@"; }\n${command}`;
  const env = { PATH: process.env['PATH'], QM: 'http://127.0.0.1:8080', KEY: 'qm_key', QM_SESSION: 'token' };
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

const NAMES = [...HOSTILE, "a'(b)*!", "',x:y//", '--scope=user', '"];x=["'];

test.each(NAMES)(
  'regression: the provider name %j stays a text in the lines for each client of a gateway',
  (provider) => {
    const service = 'https://qm.example.com';
    const at = { service, gatewayId: 'gw_1', provider };
    const url = `${service}/v1/gateways/gw_1/mcp/${encodeURIComponent(provider)}`;
    const words = wordsOf(clientSnippet('Claude Code', at));
    const [, , , , name = ''] = words;
    expect(words).toEqual(['mcp', 'add', '--transport', 'http', name, url, '--header', 'Authorization: Bearer token']);
    expect(name).toMatch(/^\w[\w-]*$/);
    expect(wordsOf(clientSnippet('curl', at))[0]).toBe(url);
    expect(clientSnippet('constructor', at)).toBe(clientSnippet('curl', at));
    expect(JSON.parse(clientSnippet('Cursor', at)).mcpServers[name].url).toBe(url);
    expect(JSON.parse(clientSnippet('VS Code', at)).servers[name].url).toBe(url);
    expect(clientSnippet('Codex', at).split('\n')).toEqual([
      `[mcp_servers.${name}]`,
      `url = "${url}"`,
      'bearer_token_env_var = "QM_SESSION"',
    ]);
    expect(targetOf(clientSnippet('LangChain', at))).toEqual({ [name]: { url, headers: expect.anything() } });
    expect(targetOf(clientSnippet('AI SDK', at))).toMatchObject({ transport: { url } });
  },
);

test('a shell gets the address of the sessions of a gateway as it is', () => {
  const command = sessionCommand({ service: 'https://qm.example.com', gatewayId: "x'$(id)", key: '$(id)' });
  const [, post = ''] = /\$\((curl .*) \| sed/s.exec(command) ?? [];
  expect(wordsOf(post).slice(0, 6)).toEqual([
    '-fsS',
    '-X',
    'POST',
    "https://qm.example.com/v1/gateways/x'%24(id)/sessions",
    '-H',
    'X-API-Key: $(id)',
  ]);
});

/** What the program of a snippet gives to its MCP client. */
function targetOf(program: string): unknown {
  let target: unknown;
  const note = (given: unknown) => {
    target = given;
  };
  class MultiServerMCPClient {
    constructor(given: unknown) {
      note(given);
    }
    getTools(): void {}
  }
  const createMCPClient = (given: unknown) => {
    note(given);
    return { tools: () => {} };
  };
  const body = program.replace(/^import .*$/m, '').replaceAll('await ', '');
  const globals = { MultiServerMCPClient, createMCPClient, process: { env: { QM_SESSION: 'token' } } };
  runInNewContext(body, globals);
  // Objects of the other context have other prototypes.
  return JSON.parse(JSON.stringify(target));
}
