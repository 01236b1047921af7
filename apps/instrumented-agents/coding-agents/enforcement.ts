/**
 * Runs Claude Code and Codex against the scripted model server, with the hooks and the MCP servers that `docs/enforcement` tells people
 * to configure, and a real Quartermaster. The model calls two tools of an MCP server: `echo`, which is granted, and `get-sum`, which is
 * not. `npm run test:agents -- enforcement` runs it; it exits with 1 if an agent did anything else than the documentation says.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mintApiKey } from '../../api/src/auth/api-key-format.ts';
import { startMcpServer } from '../mcp-server/http.ts';
import { startModelServer } from '../model-server/server.ts';
import { readTruth } from '../recorder/truth.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const TIME_LIMIT_MS = 120_000;
const QUESTION = 'What is the weather?';

const CLAUDE_OPTIONS = [
  '--permission-mode',
  'bypassPermissions',
  '--tools',
  'Read',
  '--output-format',
  'stream-json',
  '--verbose',
];

const scratch = mkdtempSync(join(tmpdir(), 'enforcement-'));
const truthFile = join(scratch, 'truth.jsonl');
writeFileSync(truthFile, '');
const models = await startModelServer(() => {});
const mcp = await startMcpServer(truthFile);
const { url, adminKey, stop } = await startQuartermaster();
const world = await makeWorld();
const failures: string[] = [];

try {
  const away = 'http://127.0.0.1:9';
  await attempt('Claude Code, hook', { run: (home) => claudeCode(home, hookOfClaudeCode(url)), ran: ['echo'] });
  await attempt('Claude Code, hook, Quartermaster is away', {
    run: (home) => claudeCode(home, hookOfClaudeCode(away)),
    ran: [],
  });
  await attempt('Claude Code, hook, wrong key', {
    run: (home) => claudeCode(home, hookOfClaudeCode(url), { QUARTERMASTER_KEY: 'qm_key_wrong' }),
    ran: [],
  });
  await attempt('Claude Code, MCP proxy', { run: claudeCodeThroughProxy, ran: ['echo'] });
  const codexWithHook = (home: string, at: string, environment: Record<string, string> = {}) =>
    codex(home, hookOfCodex(at) + directServer(), { environment, options: ['--dangerously-bypass-hook-trust'] });
  await attempt('Codex, hook', { run: (home) => codexWithHook(home, url), ran: ['echo'] });
  await attempt('Codex, hook, Quartermaster is away', { run: (home) => codexWithHook(home, away), ran: [] });
  await attempt('Codex, hook, wrong key', {
    run: (home) => codexWithHook(home, url, { QUARTERMASTER_KEY: 'qm_key_wrong' }),
    ran: [],
  });
  // Codex skips it without a word.
  await attempt('Codex, hook that nobody has trusted', {
    run: (home) => codex(home, hookOfCodex(url) + directServer()),
    ran: ['echo', 'get-sum'],
  });
  await attempt('Codex, MCP proxy', { run: (home) => codex(home, proxiedServerOfCodex()), ran: ['echo'] });
} finally {
  await stop();
  await mcp.stop();
  await models.stop();
  rmSync(scratch, { recursive: true, force: true });
}
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.exitCode = failures.length > 0 ? 1 : 0;

/** Runs an agent in an empty home, and compares the tools that the MCP server was asked to run. */
async function attempt(
  name: string,
  { run, ran }: { run: (home: string) => Promise<string>; ran: string[] },
): Promise<void> {
  const home = mkdtempSync(join(scratch, 'home-'));
  mkdirSync(join(home, 'work'));
  writeFileSync(truthFile, '');
  const output = await run(home);
  const tools = readTruth(truthFile).tools.map((tool) => tool.name);
  const isAsDocumented = JSON.stringify(tools) === JSON.stringify(ran);
  const denial = /Denied: .{0,90}/.exec(output)?.[0].replaceAll('\\', '') ?? 'nothing';
  process.stdout.write(`${name}: ran ${tools.join(', ') || 'nothing'}; the agent was told: ${denial}\n`);
  if (!isAsDocumented) failures.push(`${name}: ran ${tools.join(', ')}, not ${ran.join(', ')}\n${output.slice(-8000)}`);
}

/** The first block of a language in a page of `docs/enforcement`, with the addresses and ids of this run. */
function documented(page: string, language: string, { at = url, contains = '' } = {}): string {
  const text = readFileSync(join(ROOT, 'docs/enforcement', page), 'utf8');
  const blocks = [...text.matchAll(/```(\w+)\n([\s\S]*?)```/g)];
  const block = blocks.find(([, name, code = '']) => name === language && code.includes(contains))?.[2];
  if (block === undefined) throw new Error(`${page} has no block of ${language} with ${contains}`);
  return block
    .replaceAll('https://quartermaster.example.com', at)
    .replaceAll('gw_01m8j1aabg7925knrytvh6hma1', world.gatewayId);
}

function hookOfClaudeCode(at: string): string {
  return documented('claude-code.md', 'json', { at });
}

async function claudeCode(home: string, settings: string, environment: Record<string, string> = {}): Promise<string> {
  mkdirSync(join(home, 'work/.claude'));
  writeFileSync(join(home, 'work/.claude/settings.json'), settings);
  const config = join(home, 'mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { everything: { type: 'http', url: mcp.url } } }));
  return claude(home, ['-p', QUESTION, '--mcp-config', config, ...CLAUDE_OPTIONS], environment);
}

/** The command of `docs/enforcement/mcp-proxy.md`, and then a question. */
async function claudeCodeThroughProxy(home: string): Promise<string> {
  const line = documented('mcp-proxy.md', 'sh', { contains: 'claude mcp add' });
  const words =
    line
      .trim()
      .replace(/^claude /, '')
      .match(/"[^"]*"|\S+/g) ?? [];
  const values = { QM_MCP: proxyUrl(), QM_SESSION: world.token };
  const args = words.map((word) =>
    word.replaceAll('"', '').replaceAll(/\$(\w+)/g, (_, variable: string) => values[variable as keyof typeof values]),
  );
  const added = await claude(
    home,
    args.map((word) => (word === 'github' ? 'everything' : word)),
    {},
  );
  return added + (await claude(home, ['-p', QUESTION, ...CLAUDE_OPTIONS], {}));
}

function claude(home: string, args: string[], environment: Record<string, string>): Promise<string> {
  return runIn(home, '@anthropic-ai/claude-code/cli-wrapper.cjs', args, {
    ANTHROPIC_BASE_URL: models.url,
    ANTHROPIC_API_KEY: 'sk-ant-scripted',
    ANTHROPIC_MODEL: 'claude-sonnet-5',
    ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-haiku-5',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    ENABLE_TOOL_SEARCH: 'false',
    IS_SANDBOX: '1',
    QUARTERMASTER_KEY: world.key,
    ...environment,
  });
}

function hookOfCodex(at: string): string {
  return documented('codex.md', 'toml', { at });
}

function directServer(): string {
  return `\n[mcp_servers.everything]\nurl = ${JSON.stringify(mcp.url)}\n`;
}

function proxiedServerOfCodex(): string {
  return documented('mcp-proxy.md', 'toml', { contains: 'mcp_servers' })
    .replace('mcp_servers.github', 'mcp_servers.everything')
    .replace(/^url = .*$/m, `url = ${JSON.stringify(proxyUrl())}`);
}

async function codex(
  home: string,
  settings: string,
  { environment = {}, options = [] }: { environment?: Record<string, string>; options?: string[] } = {},
): Promise<string> {
  mkdirSync(join(home, '.codex'));
  const model = `model = "gpt-5-mini"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "OpenAI"
base_url = "${models.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"

`;
  writeFileSync(join(home, '.codex/config.toml'), model + settings);
  return runIn(home, '.bin/codex', ['exec', '--json', '--skip-git-repo-check', ...options, QUESTION], {
    SCRIPTED_API_KEY: 'sk-scripted',
    QUARTERMASTER_KEY: world.key,
    QM_SESSION: world.token,
    ...environment,
  });
}

/** Runs a program of `node_modules`. @returns everything that it has written */
async function runIn(
  home: string,
  program: string,
  args: string[],
  environment: Record<string, string>,
): Promise<string> {
  const file = fileURLToPath(new URL(`node_modules/${program}`, import.meta.url));
  const [command, first] = file.endsWith('js') ? [process.execPath, [file]] : [file, []];
  const child = spawn(command, [...first, ...args], {
    cwd: join(home, 'work'),
    env: { PATH: process.env['PATH'], HOME: home, TMPDIR: home, TERM: 'dumb', LANG: 'C.UTF-8', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIME_LIMIT_MS,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return output;
}

function proxyUrl(): string {
  return `${url}/v1/gateways/${world.gatewayId}/mcp/everything`;
}

async function makeWorld(): Promise<{ gatewayId: string; key: string; token: string }> {
  const account = { id: 'coding-agent', name: 'Coding agent', tenantId: 'acme', createTenant: 'always' };
  await post('/v1/service-accounts', account, adminKey);
  const { key } = await post('/v1/service-accounts/coding-agent/keys?tenant_id=acme', { scopes: ['*'] }, adminKey);
  const { id: providerId } = await post('/v1/providers', { name: 'everything', kind: 'mcp', baseUrl: mcp.url }, key);
  await post(`/v1/providers/${providerId}/inventory`, { kind: 'tool', name: 'echo' }, key);
  const gateway = { name: 'edge', providerIds: [providerId], enforcement: 'enforce', mcpProxy: 'on' };
  const { id: gatewayId } = await post('/v1/gateways', gateway, key);
  const scopes = ['gateway_sessions:evaluate'];
  const { key: hookKey } = await post('/v1/service-accounts/coding-agent/keys?tenant_id=acme', { scopes }, adminKey);
  const { token } = await post(`/v1/gateways/${gatewayId}/sessions`, {}, key);
  return { gatewayId, key: hookKey, token };
}

async function post(path: string, body: object, key: string): Promise<Record<string, string>> {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, string>;
}

async function startQuartermaster(): Promise<{ url: string; adminKey: string; stop: () => Promise<void> }> {
  const { key } = mintApiKey('key_01k0c5v7h2m4n8q3r6t9w1x2yz');
  const child = spawn('sh', [join(ROOT, 'scripts/server.sh'), join(ROOT, 'apps/api/src/main.ts')], {
    env: {
      PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
      PORT: '0',
      DATABASE_URL: `sqlite:${join(scratch, 'quartermaster.db')}`,
      QM_BOOTSTRAP_API_KEY: key,
      QM_METRICS_PORT: 'off',
      QM_OTLP_GRPC_PORT: 'off',
      QM_CONSOLE: 'off',
      QM_SHUTDOWN_DELAY_MS: '0',
      QM_LOG_LEVEL: 'info',
      QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const listening = new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const found = /listens on (http:\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    });
    void exited.then(() => reject(new Error(`Quartermaster did not start: ${output}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  return { url: await listening, adminKey: key, stop };
}
