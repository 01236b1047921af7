import { z } from 'zod';
import type { TaggedRecord } from './entity-tags.ts';
import type { ErrorCode } from './errors.ts';
import type { Scope } from './scopes.ts';

/** The longest body of most operations, in bytes: 16 KiB of metadata fit in, however they are escaped. */
export const BODY_MAX_BYTES = 128 * 1024;

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** What is said of an operation, once. Everything of the interface is made from it. */
export type OperationSaid<Path extends string, Id extends string, P, Q, B, O> = {
  method: Method;
  /** Below the base address; parameters in braces. */
  path: Path;
  /** snake_case, verb first. A released one never changes. */
  operationId: Id;
  /** What the caller's credential must hold; null: any credential will do; 'public': none is asked for. */
  scope: Scope | null | 'public';
  /** A user needs no scope where this path parameter is their own id. */
  ownId?: string;
  /** Open to users who have not accepted the terms yet. */
  beforeTerms?: boolean;
  /** How the REST path is served: by the common way, or by the OTLP receiver (its own encodings and errors). */
  transport?: 'rest' | 'otlp';
  tag: Tag;
  summary: string;
  description?: string;
  query?: Q;
  /**
   * Ignores query parameters that it does not know, as the specification of the first operations says. Every other
   * operation refuses them (422), because a mistyped filter would otherwise list everything.
   */
  ignoresUnknownQuery?: boolean;
  body?: B;
  /** The body may be absent, empty or null, which mean `{}`. */
  bodyOptional?: boolean;
  /** The body may be a form, too: `application/x-www-form-urlencoded`. Its fields are texts; unknown ones are ignored. */
  form?: boolean;
  /** The body holds a secret: a refusal repeats nothing of it, whatever field it was sent in. */
  confidentialBody?: boolean;
  /** The longest body that it takes, in bytes: {@link BODY_MAX_BYTES} where left out. */
  bodyMaxBytes?: number;
  /**
   * How many points of a rate limit a request takes, 1 where left out: more for what costs the service much more than most
   * requests do. A long body takes further points.
   */
  cost?: number;
  /** A POST that writes nothing, such as a search: there is nothing that an Idempotency-Key could protect. */
  readOnly?: boolean;
  /** It waits for somebody else's server, and so cannot be one transaction. */
  callsOut?: boolean;
  /** It answers one record, with the ETag of that. */
  record?: TaggedRecord;
  /** It takes If-Match, and compares it with the tag of this record as it is before. */
  ifMatch?: TaggedRecord;
  output: O;
  /** The refusals beyond those that the operation's shape implies (400, 401, 403, 422, 5xx). */
  errors?: readonly ErrorCode[];
} & ParamsFor<Path, P>;

/** A schema, told by its shape alone: generics over zod's own classes cost seconds of type checking. */
type Schema = { _zod: { input: unknown; output: unknown } };
type Shape = Record<string, Schema>;
type Fields<S extends Shape, Side extends 'input' | 'output'> = Simplify<
  { [K in keyof S as undefined extends S[K]['_zod'][Side] ? never : K]: S[K]['_zod'][Side] } & {
    [K in keyof S as undefined extends S[K]['_zod'][Side] ? K : never]?: S[K]['_zod'][Side];
  }
>;
type Simplify<T> = { [K in keyof T]: T[K] } & {};

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;

/** Every parameter in the path's braces has its schema: forgetting one does not compile. */
type ParamsFor<Path extends string, P> = [ParamNames<Path>] extends [never]
  ? { params?: never }
  : { params: P & Record<ParamNames<Path>, Schema> };

type Side<P, Q, B, S extends 'input' | 'output'> = Simplify<
  (P extends Shape ? { path: Fields<P, S> } : unknown) &
    (Q extends Shape
      ? S extends 'output'
        ? { query: Fields<Q, S> }
        : Record<never, never> extends Fields<Q, S>
          ? { query?: Fields<Q, S> }
          : { query: Fields<Q, S> }
      : unknown) &
    (B extends Schema ? (S extends 'output' ? { body: B['_zod'][S] } : BodyInput<B>) : unknown)
>;
type BodyInput<B extends Schema> =
  Record<never, never> extends B['_zod']['input'] ? { body?: B['_zod']['input'] | null } : { body: B['_zod']['input'] };

/**
 * A parser of an operation's input `{ path, query, body }`. The input is nested by where its parts come from, so that
 * the path of an issue is the `loc` of the answer, and nothing is merged that could collide.
 */
export type InputParser<I, O> = { _input: I; _output: O; parse(raw: unknown): O };

export type Operation<I = unknown, O = unknown, R = unknown> = {
  readonly method: Method;
  readonly path: string;
  readonly operationId: string;
  readonly scope: Scope | null | 'public';
  readonly ownId?: string;
  readonly beforeTerms: boolean;
  readonly transport: 'rest' | 'otlp';
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly ignoresUnknownQuery: boolean;
  readonly body?: z.ZodType;
  readonly bodyOptional: boolean;
  readonly form: boolean;
  readonly confidentialBody: boolean;
  readonly bodyMaxBytes: number;
  readonly cost: number;
  /**
   * What an Idempotency-Key does. transaction: the answer is kept in the transaction of the effect. lease: the answer is kept after the
   * effect, so that a process that dies between the two leaves the effect alone. none: the operation writes nothing, or
   * spans, which are idempotent by their ids.
   */
  readonly idempotency: 'none' | 'transaction' | 'lease';
  readonly record?: TaggedRecord;
  readonly ifMatch?: TaggedRecord;
  readonly errors: readonly ErrorCode[];
  readonly input: InputParser<I, O>;
  readonly output: { _input: R; _output: R; parse(value: unknown): R };
};

/** The groups of the reference, in its order. */
export const TAGS = {
  'Service accounts': 'Accounts for programs, and their API keys.',
  Providers:
    'What agents may call: model vendors, MCP servers, agent runtimes, channels; and what each of them offers.',
  'Runtime observations': 'What agents were seen to use, and what people decided about it.',
  Recommendations: 'The repairs that rules derive from observations, one call away.',
  Gateways: 'Where agents pass through, and the sessions that carry the policy there.',
  Manifests: 'What an agent, gateway or channel declares to use.',
  'Operator tasks': 'What needs a person.',
  Traces: 'The spans that agents sent, and where they send their telemetry to.',
  Usage: 'How much agents call: calls, errors, tokens and time, by hour and day.',
  Credentials: 'Keys and secrets, as metadata.',
  Users: 'People: registration, profiles, accounts.',
  Tenants: 'Tenants, and who belongs to them.',
  Audit: 'Who did what.',
} as const;
export type Tag = keyof typeof TAGS;

/** Makes an operation of what is said of it. `params` and `query` are shapes; `body` and `output` are schemas. */
export function operation<
  Path extends string,
  Id extends string,
  O extends Schema,
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Schema | undefined = undefined,
>(
  said: OperationSaid<Path, Id, P, Q, B, O>,
): Operation<Side<P, Q, B, 'input'>, Side<P, Q, B, 'output'>, O['_zod']['output']> & { operationId: Id } {
  const { params, query, body, output, transport = 'rest', beforeTerms = false, bodyOptional = false } = said;
  const { form = false, confidentialBody = false, bodyMaxBytes = BODY_MAX_BYTES, cost = 1 } = said;
  const { ignoresUnknownQuery = false } = said;
  const object = ignoresUnknownQuery ? z.object : z.strictObject;
  const parts = {
    path: params && z.object(params as unknown as z.ZodRawShape),
    query: query && object(query as unknown as z.ZodRawShape),
    body: body as unknown as z.ZodType | undefined,
  };
  // Parts that the operation does not have are checked as well: a query where it takes none is a mistake.
  const schema = object({
    path: parts.path ?? z.object({}),
    query: parts.query ?? object({}),
    body: parts.body ?? z.unknown().optional(),
  });
  const parse = (raw: unknown) => {
    const given = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>) : {};
    const parsed = schema.parse({
      ...given,
      path: given.path ?? {},
      query: given.query ?? {},
      body: given.body ?? (bodyOptional ? {} : undefined),
    });
    return Object.fromEntries(Object.entries(parsed).filter(([part]) => parts[part as keyof typeof parts]));
  };
  const { operationId, method, path, scope, tag, summary } = said;
  return {
    ...{ operationId, method, path, scope, tag, summary, transport, beforeTerms, bodyOptional, form, confidentialBody },
    bodyMaxBytes,
    cost,
    ignoresUnknownQuery,
    idempotency:
      method === 'GET' || said.readOnly || transport === 'otlp' ? 'none' : said.callsOut ? 'lease' : 'transaction',
    ...(said.record !== undefined && { record: said.record }),
    ...(said.ifMatch !== undefined && { ifMatch: said.ifMatch }),
    ...(said.ownId !== undefined && { ownId: said.ownId }),
    ...(said.description !== undefined && { description: said.description }),
    ...(parts.path && { params: parts.path }),
    ...(parts.query && { query: parts.query }),
    ...(parts.body && { body: parts.body }),
    errors: said.errors ?? [],
    // The phantom members say the types alone; nothing reads them.
    input: { parse } as unknown as InputParser<Side<P, Q, B, 'input'>, Side<P, Q, B, 'output'>>,
    output: output as unknown as Operation<unknown, unknown, O['_zod']['output']>['output'],
  };
}

/** Whether a value is an operation: contract modules export schemas and helpers beside them. */
export function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'operationId' in value && 'input' in value && 'path' in value;
}
