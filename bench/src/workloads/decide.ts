import { join } from 'node:path';
import { compilePolicy } from '@quartermaster/api/src/resources/gateway-sessions/policy.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import { findGateway } from '@quartermaster/db/repositories/gateways.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { createGuard } from '@quartermaster/gateway';
import { ask, ownHeaders } from '../answers.ts';
import { startLoad } from '../load/load.ts';
import { type LoadPlan, requestBytes } from '../load/plan.ts';
import { type Figure, number } from '../report.ts';
import { type Contender, cpuRatioOf, type Measured, measure, median, ratioOf } from '../rounds.ts';
import type { BareDecisionsSettings } from '../servers/bare-decisions.ts';
import { type ChildServer, startChildServer } from '../servers/child-server.ts';
import { isNginxInstalled, startNginx } from '../servers/nginx.ts';
import { PUBLIC_URL, type Quartermaster, startQuartermaster } from '../servers/quartermaster.ts';
import {
  type Deciding,
  type DecidingGateway,
  forwardAuth,
  makeDeciding,
  question,
  toolCall,
} from '../world/deciding.ts';
import { copyOf, removeCopy } from '../world/world.ts';
import type { Bench, Workload } from './workload.ts';

const TOOLS = { full: 2000, quick: 100 };

/** Names that were never asked for before: more than a policy remembers verdicts of, so that none is known when it comes again. */
const NEW_NAMES = 20_000;

/** What is asked for and is not in the inventory. */
const UNKNOWN_TOOL = 'drop_table';

const CONNECTIONS = 16;

/** Denials a second of one tenant, and decisions a second of another beside them. */
const FLOOD = { denials: 1000, connections: 300, probes: 200 };

type Setting = { bench: Bench; quartermaster: Quartermaster; mcpServer: ChildServer; deciding: Deciding };

/** What a part of the workload found. */
type Part = { figures: Figure[]; rows?: string[][]; notes?: string[] };

/** Decisions: forward authentication, the compiled policy, the guard, nginx, the MCP proxy, and a flood of denials. */
export const decide: Workload = async (bench) => {
  const { world, cores } = bench;
  const file = copyOf(world, 'decide');
  const mcpServer = await startChildServer(cores.server, serverFile('mcp-server'), {});
  let quartermaster: Quartermaster | null = null;
  try {
    quartermaster = await startQuartermaster({
      core: cores.server,
      databaseUrl: `sqlite:${file}`,
      secretKey: world.secretKey,
      logPath: join(world.folder, 'decide.log'),
      profileFolder: bench.profileFolder,
      // The limit of a tenant's decisions has no setting. Counting takes no part of a microsecond.
      environment: { QM_RATE_LIMITS: 'off', QM_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8' },
    });
    const tools = bench.quick ? TOOLS.quick : TOOLS.full;
    const mcpServerUrl = `http://127.0.0.1:${mcpServer.port}/mcp`;
    const deciding = await makeDeciding(quartermaster.port, world, { tools, mcpServerUrl });
    const setting = { bench, quartermaster, mcpServer, deciding };
    const parts = [
      await againstBareServers(setting),
      await newNames(setting),
      await compilation(file, deciding.enforcing),
      await guard(setting),
      await behindNginx(setting),
      await throughProxy(setting),
      await beside(setting),
    ];
    return {
      title: 'Decisions',
      table: {
        columns: ['', 'answers/s', 'p50 ms', 'p99 ms', 'CPU us/answer'],
        rows: parts.flatMap(({ rows = [] }) => rows),
      },
      figures: parts.flatMap(({ figures }) => figures),
      notes: parts.flatMap(({ notes = [] }) => notes),
    };
  } finally {
    await quartermaster?.stop();
    await mcpServer.stop();
    removeCopy(file);
  }
};

/** Forward authentication, allowed and denied, compared with bare servers that remember tokens and that verify each one. */
async function againstBareServers({ bench, quartermaster, deciding }: Setting): Promise<Part> {
  const { enforcing, names } = deciding;
  const allowed = await ask(quartermaster.port, forwardAuth(enforcing, names[0] ?? ''));
  // The first denial of a name waits for its observation.
  await ask(quartermaster.port, forwardAuth(enforcing, UNKNOWN_TOOL));
  const denied = await ask(quartermaster.port, forwardAuth(enforcing, UNKNOWN_TOOL));
  if (allowed.status !== 200 || denied.status !== 403) throw new Error(`answered ${allowed.status}, ${denied.status}`);
  const published = await ask(quartermaster.port, { method: 'GET', path: '/.well-known/jwks.json', headers: {} });
  const { keys } = JSON.parse(published.body.toString('utf8')) as { keys: Record<string, string>[] };
  const settings: Omit<BareDecisionsSettings, 'remembersTokens'> = {
    jwk: keys[0] ?? {},
    gatewayId: enforcing.id,
    names,
    allowed: { headers: ownHeaders(allowed), body: allowed.body },
    denied: { headers: ownHeaders(denied), body: denied.body },
  };
  const started: Record<string, ChildServer> = {};
  try {
    for (const name of ['remembers', 'verifies']) {
      const remembersTokens = name === 'remembers';
      const own = { ...settings, remembersTokens };
      started[name] = await startChildServer(bench.cores.server, serverFile('bare-decisions'), own);
    }
    const servers = { ...started, quartermaster };
    const figures: Figure[] = [];
    const rows: string[][] = [];
    for (const [what, status, tools] of [
      ['allowed', 200, names],
      ['denied', 403, [UNKNOWN_TOOL]],
    ] as const) {
      const requests = tools.map((tool) => requestBytes(forwardAuth(enforcing, tool)));
      const contenders = Object.entries(servers).map(([name, { pid, port }]) => ({
        ...contenderOf(`${name}, ${what}`, { pids: [pid], port, requests }),
        status,
      }));
      const measured = await measure(contenders, bench);
      const [remembers, verifies, ours] = measured;
      if (!remembers || !verifies || !ours) throw new Error('three servers are measured');
      rows.push(...measured.map(rowOf));
      figures.push(
        more(
          `forward authentication, ${what}, by CPU, of a bare server that remembers`,
          cpuRatioOf(ours, remembers),
          0.6,
        ),
        more(`forward authentication, ${what}, by rate, of the same`, ratioOf(ours, remembers), null),
        more(`forward authentication, ${what}, by CPU, of a bare server that verifies`, cpuRatioOf(ours, verifies), 3),
      );
    }
    return { figures, rows };
  } finally {
    await Promise.all(Object.values(started).map((server) => server.stop()));
  }
}

/** Names that were never asked for, compared with one that is known. In the mode `observe`, so that no answer waits for an observation. */
async function newNames({ bench, quartermaster: { pid, port }, deciding: { observing } }: Setting): Promise<Part> {
  const requestsFor = (tools: readonly string[]) => tools.map((tool) => requestBytes(forwardAuth(observing, tool)));
  const invented = Array.from({ length: NEW_NAMES }, (_, index) => `invented-${index}`);
  const measured = await measure(
    [
      contenderOf('a known name', { pids: [pid], port, requests: requestsFor([UNKNOWN_TOOL]) }),
      contenderOf('names never seen', { pids: [pid], port, requests: requestsFor(invented) }),
    ],
    bench,
  );
  const [known, never] = measured;
  if (!known || !never) throw new Error('both are measured');
  const ratio = never.median.cpuMicroseconds / known.median.cpuMicroseconds;
  return { figures: [less('CPU of a name never seen, of a known one', ratio, 1.3)], rows: measured.map(rowOf) };
}

/** How long everything that decides at a gateway takes to read, in this process. */
async function compilation(file: string, { id }: DecidingGateway): Promise<Part> {
  const db = await openDatabase(`sqlite:${file}`, '/');
  try {
    const gateway = await findGateway(db, EVERYWHERE, id);
    if (!gateway) throw new Error('the gateway exists');
    const times: number[] = [];
    for (let round = 0; round < 40; round += 1) {
      const began = performance.now();
      await compilePolicy(db, gateway);
      times.push(performance.now() - began);
    }
    return { figures: [less('compilation of the policy', median(times), 30, ' ms')] };
  } finally {
    await db.destroy();
  }
}

/** What a guard takes to decide by itself, in this process. */
async function guard({ quartermaster, deciding: { enforcing, names } }: Setting): Promise<Part> {
  const local = `http://127.0.0.1:${quartermaster.port}`;
  const guarding = createGuard({
    issuer: PUBLIC_URL,
    gatewayId: enforcing.id,
    freshSeconds: 5,
    fetch: (input, init) =>
      fetch(String(input instanceof Request ? input.url : input).replace(PUBLIC_URL, local), init),
  });
  const session = await guarding.session(enforcing.token);
  const uses = names.map((name) => ({ provider: enforcing.provider, kind: 'tool' as const, name }));
  const times: number[] = [];
  const began = performance.now();
  while (performance.now() - began < 1000) {
    const from = performance.now();
    for (const use of uses) if (!session.allows(use)) throw new Error(`${use.name} is granted`);
    times.push(((performance.now() - from) * 1000) / uses.length);
  }
  return { figures: [less('allows() of the guard', median(times), 1, ' us')] };
}

/** A call of a tool through nginx that asks, as the documentation has it, and through nginx that asks nobody. */
async function behindNginx({ bench, quartermaster, mcpServer, deciding }: Setting): Promise<Part> {
  if (!isNginxInstalled())
    return { figures: [], notes: ['nginx with auth_request: not run, because nginx is not installed'] };
  const { enforcing, names } = deciding;
  const nginx = await startNginx(bench.cores.server, {
    folder: bench.world.folder,
    quartermasterPort: quartermaster.port,
    mcpServerPort: mcpServer.port,
    gatewayId: enforcing.id,
    provider: enforcing.provider,
  });
  try {
    const requests = [toolCall('/mcp', enforcing.token, names[0] ?? '')];
    const pids = [nginx.pid, quartermaster.pid, mcpServer.pid];
    const measured = await measure(
      [
        contenderOf('nginx alone', { pids, port: nginx.plainPort, requests, connections: 1 }),
        contenderOf('nginx with auth_request', { pids, port: nginx.port, requests, connections: 1 }),
      ],
      bench,
    );
    const [alone, asking] = measured;
    if (!alone || !asking) throw new Error('both are measured');
    const ratio = alone.median.latency.p50 / asking.median.latency.p50;
    return { figures: [more('nginx alone, p50, of nginx with auth_request', ratio, 0.4)], rows: measured.map(rowOf) };
  } finally {
    await nginx.stop();
  }
}

/** A call of a tool through the MCP proxy, and one that goes to the MCP server directly. */
async function throughProxy({ bench, quartermaster, mcpServer, deciding }: Setting): Promise<Part> {
  const { enforcing, names } = deciding;
  const [tool = ''] = names;
  const call = toolCall(`/v1/gateways/${enforcing.id}/mcp/${enforcing.provider}`, enforcing.token, tool);
  // One connection would take too long to have the code compiled.
  const warmUp = contenderOf('', { pids: [], port: quartermaster.port, requests: [call] });
  await bench.load.apply({ ...warmUp.plan, seconds: 3 * bench.seconds });
  const measured = await measure(
    [
      contenderOf('the MCP server', {
        pids: [mcpServer.pid],
        port: mcpServer.port,
        requests: [toolCall('/mcp', enforcing.token, tool)],
        connections: 1,
      }),
      contenderOf('the MCP proxy before it', {
        pids: [quartermaster.pid],
        port: quartermaster.port,
        requests: [call],
        connections: 1,
      }),
    ],
    bench,
  );
  const [direct, proxied] = measured;
  if (!direct || !proxied) throw new Error('both are measured');
  return {
    figures: [
      less('p50 that the MCP proxy adds', proxied.median.latency.p50 - direct.median.latency.p50, 1, ' ms'),
      less('CPU time of the MCP proxy', proxied.median.cpuMicroseconds, 800, ' us'),
    ],
    rows: measured.map(rowOf),
  };
}

/** Decisions of one tenant while another is denied a thousand uses a second, half of them of invented names. */
async function beside({ bench, quartermaster: { port }, deciding }: Setting): Promise<Part> {
  const { enforcing, other, names } = deciding;
  const denied = Array.from({ length: NEW_NAMES }, (_, index) =>
    question(enforcing, index % 2 === 0 ? `denied-${index % 20}` : `flooding-${index}`),
  );
  const flood: LoadPlan = {
    ports: [port],
    requests: { kind: 'ready', requests: denied },
    connections: FLOOD.connections,
    rate: FLOOD.denials,
    seconds: bench.seconds,
  };
  const probes: LoadPlan = {
    ports: [port],
    requests: { kind: 'ready', requests: names.slice(0, 10).map((name) => question(other, name)) },
    connections: CONNECTIONS,
    rate: FLOOD.probes,
    seconds: bench.seconds,
  };
  const probing = startLoad(bench.cores.load);
  const [quiet, flooded, rates]: [number[], number[], number[]] = [[], [], []];
  try {
    await Promise.all([bench.load.apply(flood), probing.apply(probes)]);
    for (let round = 0; round < bench.rounds; round += 1) {
      quiet.push((await probing.apply(probes)).latency.p99);
      const [denials, probed] = await Promise.all([bench.load.apply(flood), probing.apply(probes)]);
      flooded.push(probed.latency.p99);
      rates.push(denials.answers / denials.seconds);
    }
  } finally {
    await probing.stop();
  }
  const [p99, p99Flooded] = [median(quiet), median(flooded)];
  return {
    figures: [less('p99 of another tenant beside a flood, of quiet', p99Flooded / p99, 1.5)],
    notes: [
      `flood: ${number(median(rates))} denials a second; p99 of the other tenant ${number(p99)} ms without it, ${number(p99Flooded)} ms beside it`,
    ],
  };
}

function contenderOf(
  name: string,
  at: { pids: readonly number[]; port: number; requests: readonly Buffer[]; connections?: number },
): Contender {
  const requests = { kind: 'ready' as const, requests: [...at.requests] };
  return {
    name,
    pids: at.pids,
    plan: { ports: [at.port], requests, connections: at.connections ?? CONNECTIONS, rate: null },
  };
}

function rowOf({ name, median: { rate, latency, cpuMicroseconds } }: Measured): string[] {
  return [name, number(rate), number(latency.p50), number(latency.p99), number(cpuMicroseconds)];
}

function more(name: string, value: number, agreed: number | null): Figure {
  return { name: `decide: ${name}`, value, agreed, better: 'more', unit: '' };
}

function less(name: string, value: number, agreed: number, unit = ''): Figure {
  return { name: `decide: ${name}`, value, agreed, better: 'less', unit };
}

function serverFile(name: string): string {
  return join(import.meta.dirname, `../servers/${name}.ts`);
}
