import type { ValidationError } from '@quartermaster/contracts/errors.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { ValidationFailure } from '../errors.ts';
import { QUERY_TEXT } from './query.ts';
import { defOf, schemasAt } from './schemas.ts';
import { shownInput } from './shown.ts';
import { MISSING, type Wording, wordingOf } from './vocabulary.ts';

/** An operation's input as it was sent. */
type RawInput = { path?: unknown; query?: unknown; body?: unknown; [QUERY_TEXT]?: unknown };

/** More than these nobody reads, and a body full of mistakes must not become a larger answer. */
const MAX_DETAILS = 100;

type Issue = z.core.$ZodIssue;
type Loc = (string | number)[];

/**
 * The details of a 422 in pydantic v2's vocabulary, from what zod found in an operation's input: one for each field,
 * the first; a failed union speaks through its best option; at most {@link MAX_DETAILS}.
 *
 * @param raw what was parsed; where it carries the query's text, `input` repeats that.
 * @param operation tells integers from numbers, and the names that an object allows.
 */
export function toDetails(error: z.ZodError, raw: RawInput, operation?: Operation): ValidationError[] {
  const found = new Map<string, ValidationError>();
  const provisional = new Set<string>();
  // A null body counts as none, as the operation's parser has it.
  const sent = { ...raw, query: raw[QUERY_TEXT] ?? raw.query, body: raw.body ?? undefined };
  for (const issue of error.issues.flatMap((one) => settled(one, sent))) {
    for (const detail of detailsOf(issue, sent, operation)) {
      const field = JSON.stringify(detail.loc);
      if (found.has(field) && !provisional.delete(field)) continue;
      if (operation?.confidentialBody === true) delete detail.input;
      found.set(field, detail);
      // Too large to be counted on is said only where the field has no limit of its own.
      if (issue.code === 'too_big' && 'note' in issue) provisional.add(field);
    }
    if (found.size >= MAX_DETAILS) break;
  }
  return [...found.values()].slice(0, MAX_DETAILS);
}

/** What a procedure threw; where its input broke the contract, as the failure that says so in detail. */
export function explained(error: TRPCError, operation: Operation, raw: unknown): TRPCError {
  if (error.code !== 'BAD_REQUEST' || error.cause === undefined) return error;
  // What broke while the input was parsed is a bug of ours, and no fault of the caller's.
  if (!(error.cause instanceof z.ZodError)) return new TRPCError({ code: 'INTERNAL_SERVER_ERROR', cause: error.cause });
  const sent = typeof raw === 'object' && raw !== null ? (raw as RawInput) : {};
  return new ValidationFailure(toDetails(error.cause, sent, operation));
}

/** A union's issue becomes those of the option that came closest: not another type altogether, and fewest mistakes. */
function settled(issue: Issue, sent: unknown): Issue[] {
  if (issue.code === 'invalid_key') {
    // As pydantic has it, the key itself is a place.
    return issue.issues.slice(0, 1).map((inner) => ({ ...inner, path: [...issue.path, '[key]'] }));
  }
  if (issue.code === 'invalid_element') {
    return issue.issues.flatMap((inner) => settled({ ...inner, path: [...issue.path, ...inner.path] }, sent));
  }
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  if (lookUp(sent, issue.path as Loc).value === undefined) return [issue];
  const distance = (option: readonly Issue[]) => option.length + (option.some(isOtherType) ? 1000 : 0);
  const best = issue.errors.reduce((a, b) => (distance(b) < distance(a) ? b : a));
  return best.flatMap((inner) => settled({ ...inner, path: [...issue.path, ...inner.path] }, sent));
}

function isOtherType(issue: Issue): boolean {
  // A fraction is not another type than an integer.
  return issue.code === 'invalid_type' && issue.path.length === 0 && issue.expected !== 'int';
}

function detailsOf(issue: Issue, sent: unknown, operation: Operation | undefined): ValidationError[] {
  const loc = issue.path as Loc;
  const { value, parent } = lookUp(sent, loc);
  if (issue.code === 'unrecognized_keys') {
    const allowed = allowedBy(issue) ?? namesAllowedAt(operation, loc);
    const wording: Wording = { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' };
    if (operation) wording.ctx = { allowed: [...new Set(allowed)] };
    return issue.keys
      .slice(0, MAX_DETAILS)
      .map((key) => detail([...loc, key], wording, lookUp(sent, [...loc, key]).value));
  }
  if (issue.code === 'invalid_union' && issue.errors.length === 0 && loc.length > 1) {
    // A tagged union: the place is the union's, as pydantic has it, not the tag's.
    return [detail(loc.slice(0, -1), wordingOf(issue, parent, []), parent)];
  }
  if (value === undefined && loc.at(-1) !== '[key]' && issue.code !== 'custom') {
    const bare = loc.length === 1 || (loc[0] === 'query' && loc.length === 2);
    return [detail(loc, MISSING, bare ? null : parent)];
  }
  return [detail(loc, wordingOf(issue, value, schemasAt(operation, loc)), value)];
}

/** The names that a rule of a schema's own says it allows, where what is allowed depends on the rest of the value. */
function allowedBy(issue: Issue): string[] | undefined {
  return (issue as { allowed?: string[] }).allowed;
}

/** Over tRPC, the input itself may have an unknown key: a filter beside `query`. */
function namesAllowedAt(operation: Operation | undefined, loc: Loc): string[] {
  if (loc.length === 0) return ['path', 'query', 'body'];
  return schemasAt(operation, loc).flatMap((schema) => Object.keys(defOf(schema).shape ?? {}));
}

function detail(loc: Loc, { type, msg, ctx }: Wording, input: unknown): ValidationError {
  return { type, loc, msg, ...shownInput(loc, input), ...(ctx && { ctx }) };
}

/** The value at a place, and what holds it. */
function lookUp(sent: unknown, loc: Loc): { value: unknown; parent: unknown } {
  let parent: unknown;
  let value = sent;
  for (const step of loc) {
    parent = value;
    value =
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, step)
        ? (parent as Record<string | number, unknown>)[step]
        : undefined;
  }
  return { value, parent };
}
