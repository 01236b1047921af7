import type { ValidationError } from '@quartermaster/contracts/errors.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { z } from 'zod';
import { ValidationFailure } from '../../platform/errors.ts';
import { ownMember } from '../../platform/own-member.ts';
import { QUERY_TEXT, type RawInput } from '../messages/query.ts';
import { checkValues } from './values.ts';
import { defOf, schemasAt } from '../messages/schemas.ts';
import { safeInput } from './safe-input.ts';
import { MISSING, type Wording, wordingOf } from './vocabulary.ts';

/** A body full of mistakes must not cause an answer that is larger than the body. */
const MAX_DETAILS = 100;

/** The largest size of all details together, as JSON. */
const MAX_DETAILS_CHARACTERS = 64 * 1024;

/** Longer keys are truncated in the answer. */
const MAX_KEY_CHARACTERS = 128;

type Issue = z.core.$ZodIssue;
type Loc = (string | number)[];

/**
 * Translates zod's issues into the details of a 422, in pydantic v2's vocabulary. Each field gets its first issue only. A
 * failed union gets the issues of its best option. At most {@link MAX_DETAILS}.
 *
 * @param raw the input that was parsed. If it contains the text of the query, `input` in the details repeats that text
 * @param operation its schemas say whether a number is an integer, and which names an object allows
 */
export function toDetails(error: z.ZodError, raw: RawInput, operation?: Operation): ValidationError[] {
  const found = new Map<string, ValidationError>();
  const provisional = new Set<string>();
  // A null body counts as absent, as in the operation's parser.
  const sent = { ...raw, query: raw[QUERY_TEXT] ?? raw.query, body: raw.body ?? undefined };
  for (const issue of error.issues.flatMap((one) => issuesOfBestOption(one, sent))) {
    for (const detail of detailsOf(issue, sent, operation)) {
      const field = JSON.stringify(detail.loc);
      if (found.has(field) && !provisional.delete(field)) continue;
      if (operation?.confidentialBody === true) delete detail.input;
      found.set(field, detail);
      // zod also reports integers beyond 2^53. A limit of the field itself is the better message.
      if (issue.code === 'too_big' && 'note' in issue) provisional.add(field);
    }
    if (found.size >= MAX_DETAILS) break;
  }
  return withinSizeLimit([...found.values()].slice(0, MAX_DETAILS));
}

/** The first details that fit into an answer; at least one. */
function withinSizeLimit(details: ValidationError[]): ValidationError[] {
  let room = MAX_DETAILS_CHARACTERS;
  const end = details.findIndex((detail, index) => {
    room -= JSON.stringify(detail).length;
    return room < 0 && index > 0;
  });
  return end < 0 ? details : details.slice(0, end);
}

/**
 * Validates an operation's input against its contract.
 *
 * @throws ValidationFailure 422 with what is wrong, in pydantic's vocabulary
 */
export function validate(operation: Operation, raw: RawInput): unknown {
  checkValues(raw);
  try {
    return operation.input.parse(raw);
  } catch (error) {
    // Anything else that breaks while the input is parsed is a bug.
    if (!(error instanceof z.ZodError)) throw error;
    const sent = typeof raw === 'object' && raw !== null ? raw : {};
    throw new ValidationFailure(toDetails(error, sent, operation));
  }
}

/** Replaces the issue of a union by the issues of its closest option: one of the same type, with the fewest mistakes. */
function issuesOfBestOption(issue: Issue, sent: unknown): Issue[] {
  if (issue.code === 'invalid_key') {
    // pydantic puts the key itself into the location.
    return issue.issues.slice(0, 1).map((inner) => ({ ...inner, path: [...issue.path, '[key]'] }));
  }
  if (issue.code === 'invalid_element') {
    return issue.issues.flatMap((inner) =>
      issuesOfBestOption({ ...inner, path: [...issue.path, ...inner.path] }, sent),
    );
  }
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  if (lookUp(sent, issue.path as Loc).value === undefined) return [issue];
  const distance = (option: readonly Issue[]) => option.length + (option.some(isOtherType) ? 1000 : 0);
  const best = issue.errors.reduce((a, b) => (distance(b) < distance(a) ? b : a));
  return best.flatMap((inner) => issuesOfBestOption({ ...inner, path: [...issue.path, ...inner.path] }, sent));
}

function isOtherType(issue: Issue): boolean {
  // A fraction where an integer is expected is still a number.
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
    // pydantic reports a tagged union at the union's location, not at the tag's.
    return [detail(loc.slice(0, -1), wordingOf(issue, parent, []), parent)];
  }
  if (value === undefined && loc.at(-1) !== '[key]' && issue.code !== 'custom') {
    const bare = loc.length === 1 || (loc[0] === 'query' && loc.length === 2);
    return [detail(loc, MISSING, bare ? null : parent)];
  }
  return [detail(loc, wordingOf(issue, value, schemasAt(operation, loc)), value)];
}

/** The allowed names, for a custom rule whose allowed names depend on the rest of the value. */
function allowedBy(issue: Issue): string[] | undefined {
  return (issue as { allowed?: string[] }).allowed;
}

/** Over tRPC the input itself may have an unknown key, such as a filter that should be inside `query`. */
function namesAllowedAt(operation: Operation | undefined, loc: Loc): string[] {
  if (loc.length === 0) return ['path', 'query', 'body'];
  return schemasAt(operation, loc).flatMap((schema) => Object.keys(defOf(schema).shape ?? {}));
}

function detail(loc: Loc, { type, msg, ctx }: Wording, input: unknown): ValidationError {
  return { type, loc: loc.map(shownStep), msg, ...safeInput(loc, input), ...(ctx && { ctx }) };
}

/** A location may contain keys from the caller, each as long as a body. */
function shownStep(step: string | number): string | number {
  return typeof step === 'string' && step.length > MAX_KEY_CHARACTERS
    ? `${step.slice(0, MAX_KEY_CHARACTERS).toWellFormed()}…`
    : step;
}

/** The value at a location, and the object or list that contains it. */
function lookUp(sent: unknown, loc: Loc): { value: unknown; parent: unknown } {
  let parent: unknown;
  let value = sent;
  for (const step of loc) {
    parent = value;
    value = ownMember(parent, step);
  }
  return { value, parent };
}
