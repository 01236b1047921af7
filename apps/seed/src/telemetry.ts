import { ingestTraces } from '@quartermaster/client';
import { clientWith, dataOf } from './calls.ts';
import { AGENTS, PROVIDERS, SYNCED } from './company.ts';
import { type Agent, listUses, type Use } from './company-types.ts';
import { type Context, DAY_MS } from './context.ts';
import { durationOf, exportRequest, type OtlpSpan, type Sender, spansOf } from './otlp.ts';
import { createRandom } from './random.ts';
import {
  agent as agentStep,
  agentLoop,
  type Calls,
  callFunction,
  callTool,
  chat,
  failedRun,
  handOff,
  longRun,
  retriedChat,
  type Step,
} from './trace-shapes.ts';

/** At scale 1: traces per agent, and undeclared functions per agent. */
const TRACES_PER_AGENT = 24;
const UNDECLARED_PER_AGENT = 18;

const PAST_DAYS = 6;
const SPANS_PER_REQUEST = 500;

/** The agent whose nightly job creates a trace of about 1,000 spans, and the agents that hand work to other agents. */
const LONG_RUNNING = 'data-platform';
const HANDING_OFF = ['release-manager', 'research-analyst'];

/** Sends the agents' traces of the past days, each with the agent's own key. */
export async function sendTelemetry(context: Context, keys: Map<string, string>): Promise<void> {
  for (const agent of AGENTS) {
    const traces = tracesOf(context, agent).map((root) => {
      const latest = context.now.getTime() - durationOf(root) - 60_000;
      const start = latest - context.random.integer(0, PAST_DAYS * DAY_MS);
      return spansOf(root, { random: context.random, start });
    });
    const environments = environmentsOf(agent);
    for (const [index, environment] of environments.entries()) {
      const own = traces.filter((_, position) => position % environments.length === index);
      for (const spans of batched(own)) await send(context, keys, { service: agent.id, environment }, spans);
    }
  }
}

/** Sends one trace for each use, starting now. */
export async function useAgain(context: Context, keys: Map<string, string>, uses: { agentId: string; use: Use }[]) {
  for (const { agentId, use } of uses) {
    const agent = AGENTS.find(({ id }) => id === agentId);
    if (agent === undefined) throw new Error(`there is no agent ${agentId}`);
    const calls = callsOf(context, agent);
    const isModel = use.kind === 'model';
    const step = isModel ? chat(calls, use) : isOwn(agent, use) ? callFunction(calls, use.name) : callTool(calls, use);
    const root = agentStep(agent.id, [{ ...step, durationMs: 5 }]);
    const { random } = context;
    const [environment = null] = environmentsOf(agent);
    await send(context, keys, { service: agent.id, environment }, spansOf(root, { random, start: Date.now() }));
  }
}

/** Sends a span of a framework that the service does not know. The account then shows why its agent is missing. */
export async function sendNotUnderstood(
  { url, now }: Context,
  { service, key }: { service: string; key: string },
): Promise<void> {
  const root: Step = {
    name: 'reply',
    kind: 'internal',
    attributes: { 'acme.model': 'gpt-4' },
    durationMs: 900,
    children: [],
  };
  // A sequence of its own: the random data of the agents stays as it is.
  const spans = spansOf(root, { random: createRandom(1), start: now.getTime() - DAY_MS });
  const body = exportRequest({ service, environment: 'production' }, spans, 'acme.chatbot');
  await dataOf(ingestTraces({ client: clientWith(url, { key }), body }));
}

function environmentsOf({ environments = ['production'] }: Agent): readonly (string | null)[] {
  return environments;
}

async function send(context: Context, keys: Map<string, string>, sender: Sender, spans: OtlpSpan[]): Promise<void> {
  const client = clientWith(context.url, { key: keys.get(sender.service) ?? '' });
  const { partialSuccess } = await dataOf(ingestTraces({ client, body: exportRequest(sender, spans) }));
  if (partialSuccess !== undefined) throw new Error(`spans were refused: ${partialSuccess.errorMessage}`);
}

function tracesOf(context: Context, agent: Agent): Step[] {
  const { random, scale } = context;
  const calls = callsOf(context, agent);
  const undeclared = undeclaredNames(context);
  const unseen = [...undeclared];
  const functions = (count: number) =>
    Array.from({ length: count }, () => callFunction(calls, unseen.shift() ?? random.pick(undeclared)));
  const shapes: (() => Step)[] = [
    () => agentLoop(calls, agent.id, { rounds: random.integer(1, 4), more: functions(3) }),
    () => agentLoop(calls, agent.id, { rounds: 2, more: functions(3) }),
    () => chat(calls, calls.model()),
    () => (random.chance(0.5) ? failedRun(calls, agent.id) : retriedChat(calls, agent.id)),
  ];
  if (HANDING_OFF.includes(agent.id)) shapes.push(() => handOff(calls, agent.id));
  const count = Math.ceil(TRACES_PER_AGENT * scale);
  const traces = Array.from(
    { length: count },
    (_, index) => shapes[index % shapes.length]?.() ?? chat(calls, calls.model()),
  );
  if (agent.id === LONG_RUNNING) traces.push(longRun(calls, agent.id));
  // The functions that did not fit into the other traces.
  if (unseen.length > 0) traces.push(agentStep(agent.id, functions(unseen.length)));
  return traces;
}

/** Returns the items that the agent uses in turn, so that each is observed. */
function callsOf({ random }: Context, agent: Agent): Calls {
  const uses = listUses(agent.uses);
  const models = uses.filter(({ kind }) => kind === 'model');
  const others = uses.filter(({ kind }) => kind !== 'model');
  const inTurn = (list: Use[]) => {
    let next = random.integer(0, list.length - 1);
    return () => {
      next = (next + 1) % list.length;
      return list[next] ?? random.pick(list);
    };
  };
  return { random, model: inTurn(models), tool: inTurn(others), addressOf: (use) => addressOf(agent, use) };
}

/** The attributes that name a span's provider: its address, as clients send it, or its name if the address is not known. */
function addressOf({ tenantId }: Agent, { provider, kind }: Use): Record<string, string | number> {
  const declared = PROVIDERS.find((one) => one.name === provider && one.tenantId === tenantId);
  if (declared?.baseUrl === undefined) {
    const isNamed = kind === 'model' || provider === SYNCED.name || declared !== undefined;
    return isNamed ? { 'gen_ai.provider.name': provider } : { 'server.address': `${provider}.mcp.example` };
  }
  const { hostname, port, protocol } = new URL(declared.baseUrl);
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return {
    ...(kind === 'model' && { 'gen_ai.provider.name': provider }),
    'server.address': hostname,
    'server.port': port === '' ? defaultPort : Number(port),
  };
}

const VERBS = 'list export update delete summarise classify translate validate merge tag'.split(' ');
const NOUNS =
  'orders invoices customers tickets shipments contracts returns prices emails suppliers refunds payments products reports vehicles meetings leads forecasts'.split(
    ' ',
  );

/** Names of functions in an agent's own program. No inventory has them. */
function undeclaredNames({ random, scale }: Context): string[] {
  const names = random.shuffle(VERBS.flatMap((verb) => NOUNS.map((noun) => `${verb}_${noun}`)));
  const count = Math.ceil(UNDECLARED_PER_AGENT * scale);
  return Array.from({ length: count }, (_, index) => {
    const version = Math.floor(index / names.length);
    return `${names[index % names.length]}${version === 0 ? '' : `_v${version + 1}`}`;
  });
}

/** Whether the item is a function of the agent's own program. Then its provider has the agent's name. */
function isOwn(agent: Agent, { provider }: Use): boolean {
  return provider === agent.id;
}

/** Batches whole traces into requests of about SPANS_PER_REQUEST spans. */
function* batched(traces: OtlpSpan[][]): Generator<OtlpSpan[]> {
  let batch: OtlpSpan[] = [];
  for (const trace of traces) {
    batch.push(...trace);
    if (batch.length < SPANS_PER_REQUEST) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
