import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { signIn } from '@quartermaster/quickstart/calls.ts';
import { Failure } from '@quartermaster/quickstart/failure.ts';
import { expect, test } from 'vitest';
import { freePort } from '@quartermaster/db/testing/free-port.ts';
import { databaseFile, newBootstrapKey } from './support/environment.ts';
import { runProgram } from './support/process.ts';
import { startService } from './support/start.ts';

const WALKTHROUGH = new URL('../../../docs/walkthrough.md', import.meta.url);
const QUICKSTART = fileURLToPath(import.meta.resolve('@quartermaster/quickstart/main.ts'));

/** Generous, because the quickstart and its MCP server are separate processes on a busy machine. */
const TIME_LIMIT_MS = 60_000;

/** A server with the settings of `npm start` on a new database. */
async function developmentServer(environment: Record<string, string> = {}) {
  const key = newBootstrapKey();
  const { url } = await startService({
    DATABASE_URL: `sqlite:${await databaseFile()}`,
    QM_BOOTSTRAP_API_KEY: key,
    QM_DEV_IDENTITY: '1',
    QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8,::1',
    ...environment,
  });
  const ask = async (path: string) => {
    const response = await fetch(url + path, { headers: { 'x-api-key': key } });
    expect(response.status).toBe(200);
    return (await response.json()) as { items: Record<string, unknown>[] };
  };
  return { url, ask };
}

/** The output without times, ids, ports, bars and line breaks: what each run has in common. */
const withoutMeasurements = (output: string) =>
  output
    .replaceAll(/(?<=quickstart-)[0-9a-f]{6}|(?<=trace )[0-9a-f]{32}|(?<=(?:gw|prov)_)\w{26}/g, 'ID')
    // On a busy machine the id comes too late.
    .replaceAll(/&item=obs_\w{26}/g, '')
    .replaceAll(/(?<=http:\/\/127\.0\.0\.1:)\d+/g, 'PORT')
    .replaceAll(/[\d.]+(?= m?s\b)/g, 'TIME')
    .replaceAll(/[\s█]+/g, ' ')
    .trim();

const tenantIn = (output: string) => /A new tenant, (quickstart-[0-9a-f]{6}), at/.exec(output)?.[1] ?? '';

test(
  'the quickstart shows the whole loop',
  async () => {
    const { url, ask } = await developmentServer();
    const { output, ended } = runProgram({ QM_URL: url }, QUICKSTART);
    expect(await ended, output()).toEqual({ code: 0, signal: null });
    const story = output();

    // Declared: the first session is granted the items of the sync.
    const granted = /before +everything +(\d+) prompts, (\d+) resources, (\d+) tools\n/.exec(story);
    const counts = granted?.slice(1).map(Number) ?? [];
    expect(counts.every((count) => count > 0)).toBe(true);
    const added = counts.reduce((sum, count) => sum + count, 0);
    expect(story).toMatch(new RegExp(`synced in \\d+ ms: ${added} items\\.`));
    // Observed: the trace is shown as a tree below its agent, with bars for the times.
    expect(story).toMatch(/\n {3}agent trip-planner +█+ +\d+\.\d ms\n {5}model scripted-1 +█+ +\d+\.\d ms\n/);
    for (const tool of ['get-sum', 'echo', 'book_hotel']) {
      expect(story).toMatch(new RegExp(`\\n {5}tool ${tool} +█+ +\\d+\\.\\d ms\\n`));
    }
    // Unknown: everything except the tools of the declared provider.
    expect(story.match(/^ {3}(declared|unknown) .*$/gm)?.map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['declared', 'tool', 'echo', 'at everything', '1 x'],
      ['declared', 'tool', 'get-sum', 'at everything', '1 x'],
      ['unknown', 'tool', 'book_hotel', 'at trip-planner', '1 x', 'risk high'],
      ['unknown', 'model', 'scripted-1', 'at trip-planner', '3 x', 'risk high'],
      ['unknown', 'agent', 'trip-planner', 'at trip-planner', '1 x', 'risk high'],
    ]);
    // Recommended: skipped without a review, then reviewed, shown in a dry run, applied.
    expect(story).toContain('0 applied, 4 skipped (needs_review)');
    expect(story).toContain('Review of the tool book_hotel: approved.');
    expect(story).toMatch(
      / provider trip-planner: discovered -> active\n.* inventory_item book_hotel: nothing -> available\n/,
    );
    expect(story).toContain('Applied: adopt_provider, register_item.');
    // Granted: the next session contains the item.
    expect(story).toMatch(/\n {3}after +everything +.*\n {3}after \+ +trip-planner +tool book_hotel\n/);
    // Enforced: the tool that was added after the sync is denied, and allowed after an approval.
    expect(story).toContain(
      'The agent is offered list_bookings alone. It calls both tools:\n   list_bookings -> One booking',
    );
    expect(story).toContain('\n   cancel_booking -> Denied: the tool "cancel_booking" is not in the inventory');
    expect(story).toMatch(
      new RegExp(`${url}/console/inbox\\?provider=prov_\\w+&kind=tool&name=cancel_booking(?:&item=obs_\\w+)?\\n`),
    );
    expect(story).toContain('approves the tool, and applies register_item.');
    const waited =
      /After (\d+\.\d) s the agent's call goes through, in the same session:\n +cancel_booking -> The/.exec(story);
    expect(Number(waited?.[1])).toBeLessThanOrEqual(5);
    expect(story).toContain(`${url}/docs`);
    const repeated = /^```text\n(.*?)^```$/ms.exec(await readFile(WALKTHROUGH, 'utf8'))?.[1] ?? '';
    expect(withoutMeasurements(repeated)).toBe(withoutMeasurements(story));

    const { items } = await ask(`/v1/runtime-observations?tenant_id=${tenantIn(story)}`);
    const unknown = items.filter((one) => one['unknown'] === true).map(({ name }) => String(name));
    expect(unknown.toSorted()).toEqual(['scripted-1', 'trip-planner']);

    // Addresses cannot be wrapped.
    const tooLong = story.split('\n').filter((line) => line.length > 96 && !/^ +http\S+$/.test(line));
    expect(tooLong).toEqual([]);
    expect(story).not.toContain('\u001b');
    expect(story).not.toMatch(/qm_key_\w/);
  },
  TIME_LIMIT_MS,
);

test(
  'the quickstart ends its MCP server when it is interrupted, and makes a new tenant each time',
  async () => {
    const { url, ask } = await developmentServer();
    const runs = [{ QM_URL: `${url}/` }, { PORT: new URL(url).port }].map((address) => runProgram(address, QUICKSTART));
    for (const { child, output, ended } of runs) {
      const mcp = () => /http:\/\/127\.0\.0\.1:(\d+)\/mcp/.exec(output())?.[1];
      await expect.poll(mcp, { timeout: TIME_LIMIT_MS }).toBeDefined();
      child.kill('SIGINT');
      expect(await ended).toEqual({ code: null, signal: 'SIGINT' });
      await expect.poll(() => answers(Number(mcp())), { timeout: TIME_LIMIT_MS }).toBe(false);
    }
    const made = (await ask('/v1/tenants')).items.filter(({ id }) => String(id).startsWith('quickstart-'));
    expect(made).toHaveLength(2);
  },
  TIME_LIMIT_MS,
);

test(
  'without a server the quickstart explains how to start one',
  async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { stdout, stderr, ended } = runProgram({ QM_URL: url }, QUICKSTART);
    expect(await ended).toEqual({ code: 1, signal: null });
    expect(stdout()).toBe('');
    expect(stderr()).toContain(`quickstart: No server answers at ${url}.`);
    expect(stderr()).toContain('npm start');
    expect(stderr()).not.toContain('    at ');
  },
  TIME_LIMIT_MS,
);

test(
  'at a server without the development identity provider the quickstart prints an error and changes nothing',
  async () => {
    const { url, ask } = await developmentServer({ QM_DEV_IDENTITY: '0' });
    const refused = signIn(url);
    await expect(refused).rejects.toThrow(Failure);
    await expect(refused).rejects.toThrow(`The server at ${url} runs without the development identity provider`);
    expect((await ask('/v1/tenants')).items.map(({ id }) => id)).toEqual(['default']);
  },
  TIME_LIMIT_MS,
);

test(
  'if the server may not connect to the MCP server, the quickstart prints the answer of the server',
  async () => {
    const { url } = await developmentServer({ QM_ALLOW_PRIVATE_ADDRESSES: '' });
    const { output, ended } = runProgram({ QM_URL: url }, QUICKSTART);
    expect(await ended).toEqual({ code: 1, signal: null });
    expect(output()).toMatch(
      /quickstart: The server answered 502 to \/v1\/providers\/\w+\/sync: The sync \w+ failed: the address 127\.0\.0\.1 is not public/,
    );
  },
  TIME_LIMIT_MS,
);

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

test('the quickstart prints its usage for --help, and refuses other arguments', async () => {
  const help = runProgram({}, [QUICKSTART, '--help']);
  expect(await help.ended, help.output()).toEqual({ code: 0, signal: null });
  expect(help.stdout()).toMatch(/^usage: npm run quickstart\n/);
  const wrong = runProgram({}, [QUICKSTART, 'now']);
  expect(await wrong.ended, wrong.output()).toEqual({ code: 2, signal: null });
  expect(wrong.stderr()).toBe(help.stdout());
});
