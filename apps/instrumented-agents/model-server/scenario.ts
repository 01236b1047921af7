import { MARKERS } from './markers.ts';
import { builtInSteps } from './built-in-tools.ts';

export const ANSWER = `It stays dry, ${MARKERS.answer}, all day.`;

/** The answer to a request for JSON: every text in it is the answer. Knows the types that the programs use. */
export function jsonAnswer(schema: unknown): string {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  const value = ({ type }: { type?: string }) => (type === 'number' ? 1 : ANSWER);
  return JSON.stringify(Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, value(field)])));
}

export const ERROR_TEXT = `The request was refused: ${MARKERS.errorText}`;

/** Input includes the cached tokens, output the reasoning tokens. */
export const TOKENS = { input: 21, cachedInput: 5, output: 8, reasoningOutput: 3 };

export const EMBEDDING_TOKENS = 4;

export type PlannedCall = { name: string; arguments: Record<string, unknown> };

/** Tools by the end of their names, in the order in which the model calls them. The calls of one step come in one answer. */
const STEPS: { tool: RegExp; arguments: Record<string, unknown> }[][] = [
  [{ tool: /(^|_)get_weather$/, arguments: { city: MARKERS.toolArgument } }],
  [
    { tool: /(^|_)echo$/, arguments: { message: MARKERS.toolArgument } },
    { tool: /(^|_)get_sum$/, arguments: { a: 1, b: 2 } },
  ],
  [{ tool: /^transfer_to_/, arguments: {} }],
  // eve calls the tools of MCP servers by a tool of its own.
  [{ tool: /^eve_tool$/, arguments: { name: 'everything__echo', input: { message: MARKERS.toolArgument } } }],
  // Some agents give their answer by a tool.
  [{ tool: /^final_answer$/, arguments: { response: ANSWER } }],
  [{ tool: /^agent_/, arguments: { prompt: MARKERS.toolArgument } }],
  [{ tool: /^delegate_task$/, arguments: { task: MARKERS.toolArgument, targetAgents: ['umbrella_agent'] } }],
];

/**
 * The tools that the model calls next: those of the first step that are offered and not called yet.
 * @returns an empty list when the model answers with text
 */
export function planCalls({ offered, called }: { offered: string[]; called: string[] }): PlannedCall[] {
  for (const step of [...STEPS, ...builtInSteps()]) {
    const calls = step.flatMap(({ tool, arguments: args }) => {
      const name = offered.find((candidate) => tool.test(normalized(candidate)));
      return name === undefined || called.includes(name) ? [] : [{ name, arguments: args }];
    });
    if (calls.length > 0) return calls;
  }
  return [];
}

/** Whether the request asks for a failure. */
export function mustFail(body: unknown): boolean {
  return JSON.stringify(body).includes(MARKERS.fail);
}

/** A model is answered by a dated version of itself, as the vendors' real servers do. */
export function datedModel(model: string): string {
  return /-\d{4}-\d{2}-\d{2}$/.test(model) ? model : `${model}-2026-01-01`;
}

/** Frameworks rewrite tool names: `get-sum` is also offered as `get_sum` and `everything_get-sum`. */
function normalized(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
}
