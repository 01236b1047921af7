import { z } from 'zod';
import { valuesBeyond } from '../json-values.ts';
import { type ListedItem, type ReadItem, readItem, TOO_MANY_ITEMS, unreadable } from './item.ts';
import { listOf } from './mcp-lists.ts';

/** What an answer is read for. */
export type Question = {
  /** The provider's name: it is not counted to the names of models. */
  providerName: string;
  /** Items that the listing still has room for. */
  room: number;
  /** The JSON-RPC request that it answers, of an MCP server; null: it is a list of models. */
  request: { id: unknown; method: string } | null;
};

/** Where a list of models goes on. */
export type NextModels = { after: string | null; parameter: 'after' | 'after_id' };

/** What an answer has, without anything whose size the far side decides. */
export type AnswerRead = {
  items: ReadItem[];
  /** Of an MCP server: the message without its items, as JSON. */
  message: string;
  /** Of a list of models; null where the answer is none. */
  next: NextModels | null;
};

/** An answer that is not taken: why, in words of ours. */
export type AnswerRefused = { refused: string };

/**
 * JSON values of one answer: 5,000 items of a hundred values each. Small values take much more memory than text, so they
 * are counted before any of them is built.
 */
const MAX_VALUES = 500_000;

/** What is beside the items of an answer: errors, capabilities, instructions. */
const MESSAGE_MAX_CHARACTERS = 64 * 1024;

/** A position in a list, which the next request repeats. */
const CURSOR_MAX_CHARACTERS = 2048;

/** Messages of one batch (JSON-RPC 2.0, section 6). One answers the request. */
const MAX_MESSAGES = 100;

/** Stands for a message that is not JSON: the client finds out in its own way. */
const NOT_JSON = 'not JSON';

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

const ModelListSchema = z.object({
  object: text,
  data: z.unknown().refine(Array.isArray),
  has_more: z.boolean().nullish(),
  last_id: z.string().nullish(),
});

/** Reads an answer. Takes as long as the answer is large: `askThread` decides where it runs. */
export function readAnswer(body: string, question: Question): AnswerRead | AnswerRefused {
  if (valuesBeyond(body, MAX_VALUES, { nested: true }))
    return { refused: `its answer has more than ${MAX_VALUES} values` };
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error;
    return { items: [], message: NOT_JSON, next: null };
  }
  return question.request === null ? readModels(parsed, question) : readMessages(parsed, question);
}

/** A page of models; where it goes on is null if it has none, or if the list ends. */
function readModels(parsed: unknown, question: Question): AnswerRead | AnswerRefused {
  const list = ModelListSchema.safeParse(parsed);
  if (!list.success) return { items: [], message: NOT_JSON, next: null };
  const { object, data, has_more: hasMore, last_id: lastId } = list.data;
  const listed = data as unknown[];
  if (listed.length > question.room) return TOO_MANY;
  const models = listed.map(modelOf);
  const after = hasMore === true ? (lastId ?? models.at(-1)?.name ?? null) : null;
  if (after !== null && after.length > CURSOR_MAX_CHARACTERS) return CURSOR_TOO_LONG;
  const provider = { name: question.providerName };
  return {
    items: models.map((model) => readItem(model, provider)),
    message: '',
    // Lists of OpenAI's API go on `after` an id; those of Anthropic's, which have no `object`, go on `after_id`.
    next: { after, parameter: object === 'list' ? 'after' : 'after_id' },
  };
}

function modelOf(raw: unknown): ListedItem {
  const model = ModelSchema.safeParse(raw);
  if (!model.success) return unreadable('model', raw, 'id');
  const { id, owned_by, created, display_name, description } = model.data;
  return { kind: 'model', name: id, title: display_name, description, attributes: { owned_by, created } };
}

/** The messages of an MCP server, and the items of the one that answers the request. */
function readMessages(parsed: unknown, question: Question): AnswerRead | AnswerRefused {
  const messages: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  if (messages.length > MAX_MESSAGES) return { refused: `it answers with more than ${MAX_MESSAGES} messages` };
  const list = listOf(question.request?.method ?? '');
  // The client, too, takes the text of a number for the number.
  const id = String(question.request?.id);
  const result = messages.find((message) => isObject(message) && String(message['id']) === id);
  let items: ReadItem[] = [];
  if (list && isObject(result) && isObject(result['result'])) {
    const listed = result['result'][list.member];
    if (Array.isArray(listed)) {
      if (listed.length > question.room) return TOO_MANY;
      items = listed.map((raw) => readItem(list.itemOf(raw), { name: question.providerName }));
      result['result'][list.member] = [];
    }
    const cursor = result['result']['nextCursor'];
    if (typeof cursor === 'string' && cursor.length > CURSOR_MAX_CHARACTERS) return CURSOR_TOO_LONG;
  }
  const message = written(parsed);
  if (message === null || message.length > MESSAGE_MAX_CHARACTERS) {
    return { refused: `its answer has more than ${MESSAGE_MAX_CHARACTERS} characters beside its items` };
  }
  return { items, message, next: null };
}

/** Null where a value is nested deeper than can be written down. */
function written(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
