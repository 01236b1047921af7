import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { z } from 'zod';
import { defOf, isInteger, unwrapped } from './schemas.ts';

/** An operation's input as it was sent, before validation. Over tRPC it may be anything. */
export type RawInput = { path?: unknown; query?: unknown; body?: unknown; [QUERY_TEXT]?: unknown };

/** The key in the raw input for the query parameters as text, so that a 422 repeats `"0"` as it was sent, not `0`. */
export const QUERY_TEXT: unique symbol = Symbol('query text');

type QueryText = Record<string, string | string[]>;
export type QueryReader = (search: string) => { query: Record<string, unknown>; text: QueryText };

type Read = (text: string) => unknown;

/**
 * Compiles a parser for an operation's query. Integers, numbers and booleans are parsed as pydantic does; a value that cannot
 * be parsed stays a string, which the schema then refuses. The last of repeated parameters counts, unless the schema is a
 * list. Unknown parameters are passed on for the schema to refuse, unless the operation ignores them.
 *
 * @returns a function that parses the part of a URL after the `?`
 */
export function queryReader(operation: Pick<Operation, 'query' | 'ignoresUnknownQuery'>): QueryReader {
  const { query: schema, ignoresUnknownQuery } = operation;
  const lists = new Set<string>();
  const readers = new Map<string, Read>();
  for (const [name, field] of Object.entries(schema?.shape ?? {})) {
    const { element } = defOf(unwrapped(field as z.ZodType));
    if (element) lists.add(name);
    readers.set(name, readOf(unwrapped(element ?? (field as z.ZodType))));
  }
  return (search) => {
    // No prototype: a parameter named `__proto__` is an ordinary member.
    const query: Record<string, unknown> = Object.create(null);
    const text: QueryText = Object.create(null);
    if (search === '' || (readers.size === 0 && ignoresUnknownQuery)) return { query, text };
    const sent = new URLSearchParams(search);
    for (const [name, read] of readers) {
      const values = sent.getAll(name);
      const last = values.at(-1);
      if (last === undefined) continue;
      text[name] = lists.has(name) ? values : last;
      query[name] = lists.has(name) ? values.map(read) : read(last);
    }
    if (ignoresUnknownQuery) return { query, text };
    for (const [name, value] of sent) {
      if (!readers.has(name)) text[name] = query[name] = value;
    }
    return { query, text };
  };
}

/** An integer in decimal, with a sign, a fraction of zeros or white space around it; else null. */
export function integerIn(text: string): number | null {
  return /^\s*[+-]?\d+(\.0+)?\s*$/.test(text) ? Number(text) + 0 : null;
}

/** A decimal number, with or without an exponent; else null. */
function numberIn(text: string): number | null {
  return /^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$/.test(text) ? Number(text) + 0 : null;
}

/** The texts that pydantic reads as true and false, in any case; else null. */
export function booleanIn(text: string): boolean | null {
  const word = text.toLowerCase();
  if (['true', '1', 'yes', 'on', 't', 'y'].includes(word)) return true;
  return ['false', '0', 'no', 'off', 'f', 'n'].includes(word) ? false : null;
}

function readOf(schema: z.ZodType): Read {
  const { type } = defOf(schema);
  if (type === 'boolean') return (text) => booleanIn(text) ?? text;
  if (type !== 'number') return (text) => text;
  return isInteger(schema) ? (text) => integerIn(text) ?? text : (text) => numberIn(text) ?? text;
}
