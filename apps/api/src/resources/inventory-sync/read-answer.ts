import { z } from 'zod';
import { hasMoreValuesThan, isObject } from '../../platform/json-values.ts';
import { type ListedItem, type ReadItem, readItem, TOO_MANY_ITEMS, unreadableItem } from './item.ts';
import { listOf } from './mcp-lists.ts';

/** What was asked, as far as reading the answer needs it. */
export type Question = {
  /** The provider's name, which is removed from the front of model names. */
  providerName: string;
  /** How many items the listing still has room for. */
  room: number;
  /** The JSON-RPC request to an MCP server; null if a list of models was requested. */
  request: { id: unknown; method: string } | null;
};

/** The cursor of the next page of models (null: this was the last page), and the query parameter that takes it. */
export type NextModels = { after: string | null; parameter: 'after' | 'after_id' };

/** The content of an answer. The size of each part is limited. */
export type AnswerRead = {
  items: ReadItem[];
  /** From an MCP server: the message that answers the request, without its items, as JSON. Null if there is none. */
  message: string | null;
  /** From a list of models; null if the answer is not one. */
  next: NextModels | null;
};

/** Why an answer is refused, in our own words. */
export type AnswerRefused = { refused: string };

/**
 * JSON values of one answer: 5,000 items of a hundred values each. Small values take much more memory than their text, so
 * they are counted before the text is parsed.
 */
const MAX_VALUES = 500_000;

/** Everything but the items of an answer: errors, capabilities, instructions. */
const MESSAGE_MAX_CHARACTERS = 64 * 1024;

/** The next request has to send the cursor back. */
const CURSOR_MAX_CHARACTERS = 2048;

/** Messages of one JSON-RPC batch (JSON-RPC 2.0, section 6). One of them answers the request. */
const MAX_MESSAGES = 100;

const TOO_MANY: AnswerRefused = { refused: TOO_MANY_ITEMS };
const CURSOR_TOO_LONG: AnswerRefused = { refused: `its cursor has more than ${CURSOR_MAX_CHARACTERS} characters` };

const text = z.string().optional().catch(undefined);

const ModelSchema = z.object({
  id: z.string(),
  owned_by: text,
  created: z.number().optional().catch(undefined),
  display_name: text,
  description: text,
});

const ModelListSchema = z.union([
  z.object({
    object: text,
    data: z.array(z.unknown()),
    has_more: z.boolean().nullish(),
    last_id: z.string().nullish(),
  }),
  // Ollama without a model.
  z.object({ object: z.literal('list'), data: z.null() }).transform(() => ({ object: 'list', data: [] })),
  // Together lists its models without an object around them.
  z.array(z.unknown()).transform((data) => ({ object: 'list', data })),
]);

type ModelList = {
  object?: string | undefined;
  data: unknown[];
  has_more?: boolean | null | undefined;
  last_id?: string | null | undefined;
};

/** Reads an answer. Takes time in proportion to its size, so `askThread` decides in which thread it runs. */
export function readAnswer(body: string, question: Question): AnswerRead | AnswerRefused {
  if (hasMoreValuesThan(body, { values: MAX_VALUES }))
    return { refused: `its answer has more than ${MAX_VALUES} values` };
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error;
    return { items: [], message: null, next: null };
  }
  return question.request === null ? readModels(parsed, question) : readMessages(parsed, question);
}

/** Reads a page of models. `next` is null if the answer is not a list of models. */
function readModels(parsed: unknown, question: Question): AnswerRead | AnswerRefused {
  const list = ModelListSchema.safeParse(parsed);
  if (!list.success) return { items: [], message: null, next: null };
  const { object, data, has_more: hasMore, last_id: lastId }: ModelList = list.data;
  if (data.length > question.room) return TOO_MANY;
  const models = data.map(modelOf);
  const after = hasMore === true ? (lastId ?? models.at(-1)?.name ?? null) : null;
  if (after !== null && after.length > CURSOR_MAX_CHARACTERS) return CURSOR_TOO_LONG;
  const provider = { name: question.providerName };
  return {
    items: models.map((model) => readItem(model, provider)),
    message: null,
    // OpenAI's API takes the cursor as `after`; Anthropic's, whose lists have no `object`, as `after_id`.
    next: { after, parameter: object === 'list' ? 'after' : 'after_id' },
  };
}

function modelOf(raw: unknown): ListedItem {
  const model = ModelSchema.safeParse(raw);
  if (!model.success) return unreadableItem('model', raw, 'id');
  const { id, owned_by, created, display_name, description } = model.data;
  return { kind: 'model', name: id, title: display_name, description, attributes: { owned_by, created } };
}

/**
 * Finds the message of an MCP server that answers the request, and takes the items out of it. Requests and notifications of the
 * server, and answers to other requests, are dropped.
 */
function readMessages(parsed: unknown, question: Question): AnswerRead | AnswerRefused {
  const messages: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  if (messages.length > MAX_MESSAGES) return { refused: `it answers with more than ${MAX_MESSAGES} messages` };
  const list = listOf(question.request?.method ?? '');
  // Compared as text, because the MCP client also accepts the id 1 as "1".
  const id = String(question.request?.id);
  const result = messages
    .filter(isObject)
    .find((message) => !('method' in message) && isId(message['id']) && String(message['id']) === id);
  let items: ReadItem[] = [];
  if (result === undefined) return { items, message: null, next: null };
  if (list && isObject(result['result'])) {
    const listed = result['result'][list.member];
    if (Array.isArray(listed)) {
      if (listed.length > question.room) return TOO_MANY;
      items = listed.map((raw) => readItem(list.itemOf(raw), { name: question.providerName }));
      result['result'][list.member] = [];
    }
    const cursor = result['result']['nextCursor'];
    if (typeof cursor === 'string' && cursor.length > CURSOR_MAX_CHARACTERS) return CURSOR_TOO_LONG;
  }
  const message = toJson(result);
  if (message === null || message.length > MESSAGE_MAX_CHARACTERS) {
    return { refused: `its answer has more than ${MESSAGE_MAX_CHARACTERS} characters besides its items` };
  }
  return { items, message, next: null };
}

/** Null if the value is nested too deeply. */
function toJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Whether a value can be the id of a message (JSON-RPC 2.0, section 4). Objects cannot, and `String` may fail for them. */
function isId(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}
