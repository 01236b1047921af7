import { appendFileSync, readFileSync } from 'node:fs';

/**
 * What really happened while a program ran. The model server and the MCP server write what they served, the program what
 * only it can see: its local tools and its agents. No telemetry is involved.
 */
export type CountedEvent =
  | { kind: 'model'; name: string; vendor: string; inputTokens: number; outputTokens: number; failed: boolean }
  | { kind: 'tool'; name: string; server: string | null; runsAt: 'vendor' | 'agent' | null; failed: boolean }
  | { kind: 'agent'; name: string };

export type Truth = {
  models: { name: string; vendor: string; calls: number; inputTokens: number; outputTokens: number }[];
  tools: { name: string; server: string | null; runsAt: 'vendor' | 'agent' | null; calls: number }[];
  agents: { name: string }[];
  /** Model calls and tool calls that failed. */
  errors: number;
};

/** Appends to the file that `QM_TRUTH_FILE` names. A file, not a request: an instrumented program traces its requests. */
export function countInto(file: string, event: CountedEvent): void {
  appendFileSync(file, `${JSON.stringify(event)}\n`);
}

export function readTruth(file: string): Truth {
  const lines = readFileSync(file, 'utf8').split('\n');
  return summarize(lines.filter((line) => line !== '').map((line) => JSON.parse(line) as CountedEvent));
}

function summarize(events: CountedEvent[]): Truth {
  const models = new Map<string, Truth['models'][number]>();
  const tools = new Map<string, Truth['tools'][number]>();
  const agents = new Set<string>();
  let errors = 0;
  for (const event of events) {
    if (event.kind === 'agent') {
      agents.add(event.name);
      continue;
    }
    if (event.failed) errors += 1;
    if (event.kind === 'model') {
      const { name, vendor, inputTokens, outputTokens } = event;
      const key = `${vendor}/${name}`;
      const sum = models.get(key) ?? { name, vendor, calls: 0, inputTokens: 0, outputTokens: 0 };
      models.set(key, {
        ...sum,
        calls: sum.calls + 1,
        inputTokens: sum.inputTokens + inputTokens,
        outputTokens: sum.outputTokens + outputTokens,
      });
    } else {
      const { name, server, runsAt } = event;
      const key = JSON.stringify([server, runsAt, name]);
      const sum = tools.get(key) ?? { name, server, runsAt, calls: 0 };
      tools.set(key, { ...sum, calls: sum.calls + 1 });
    }
  }
  return {
    models: sortedByName([...models.values()]),
    tools: sortedByName([...tools.values()]),
    agents: sortedByName(Array.from(agents, (name) => ({ name }))),
    errors,
  };
}

/** The order of calls may differ between two runs. */
function sortedByName<T extends { name: string }>(entries: T[]): T[] {
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
