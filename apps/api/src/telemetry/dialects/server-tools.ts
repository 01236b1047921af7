import { parsedJson } from './inside.ts';

/** Items of an answer of OpenAI's Responses API that are calls of its own tools. */
const OPENAI_TOOLS: ReadonlyMap<string, string> = new Map([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_interpreter'],
  ['image_generation_call', 'image_generation'],
]);

/**
 * The tools that the vendor ran while it answered, from the answer's JSON: one entry a call. Knows the answers of OpenAI's
 * Responses API, Anthropic's Messages API, and `gen_ai.output.messages`.
 */
export function serverToolsIn(answer: unknown): string[] {
  const parsed = typeof answer === 'string' ? parsedJson(answer) : undefined;
  const messages = Array.isArray(parsed) ? parsed : [parsed];
  return messages.flatMap((message) => ['output', 'content', 'parts'].flatMap((key) => callsIn(fieldOf(message, key))));
}

function callsIn(items: unknown): string[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item) => {
    const type = fieldOf(item, 'type');
    const name = fieldOf(item, 'name');
    if (type === 'server_tool_use' || type === 'server_tool_call') return typeof name === 'string' ? [name] : [];
    const known = typeof type === 'string' ? OPENAI_TOOLS.get(type) : undefined;
    return known === undefined ? [] : [known];
  });
}

function fieldOf(value: unknown, key: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isObject ? (value as Record<string, unknown>)[key] : undefined;
}
