import { z } from 'zod';
import type { TaggedRecord } from './entity-tags.ts';
import type { ErrorCode } from './errors.ts';
import type { Scope } from './scopes.ts';

/** The largest body that most operations accept, in bytes. 16 KiB of metadata fit, even if every character is escaped. */
export const BODY_MAX_BYTES = 128 * 1024;

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

type SuccessStatus = 200 | 201 | 202;

/** The definition of an operation. REST route, tRPC procedure, validation, document and client are generated from it. */
export type OperationDefinition<Path extends string, Id extends string, P, Q, B, O> = {
  method: Method;
  /** Relative to the base URL, with parameters in braces. */
  path: Path;
  /** snake_case, verb first. It must not change after its release. */
  operationId: Id;
  /** The scope that the caller needs. null: any valid credential is enough. 'public': no credential is needed. */
  scope: Scope | null | 'public';
  /** The name of a path parameter. A user needs no scope if it is their own id. */
  ownIdParameter?: string;
  /** Whether users may call it before they have accepted the terms. */
  allowedBeforeTerms?: boolean;
  /**
   * What serves the REST path: the common request pipeline; the OTLP receiver, which has other encodings and errors; or the decision
   * receiver, whose credential is the token of a gateway session.
   */
  transport?: 'rest' | 'otlp' | 'decision';
  tag: Tag;
  summary: string;
  description?: string;
  query?: Q;
  /**
   * Whether unknown query parameters are ignored, as the specification of the first 18 operations requires. All other
   * operations refuse them (422), because a mistyped filter would otherwise list everything.
   */
  ignoresUnknownQuery?: boolean;
  body?: B;
  /** Whether the body may be absent, empty or null. All three mean `{}`. */
  bodyOptional?: boolean;
  /** Whether the body may also be `application/x-www-form-urlencoded`. Its fields are strings, and unknown fields are ignored. */
  form?: boolean;
  /** Whether the body holds a secret. Validation errors then never repeat a value of the body, from any field. */
  confidentialBody?: boolean;
  /** The largest body that it accepts, in bytes. Default: {@link BODY_MAX_BYTES}. */
  bodyMaxBytes?: number;
  /**
   * How many points of the rate limit a request takes. Default: 1. Operations that cost the service much more than most
   * take more. A large body takes further points.
   */
  cost?: number;
  /** A POST that writes nothing, such as a search. It takes no Idempotency-Key. */
  readOnly?: boolean;
  /** It waits for the server of a third party, so it cannot run in one transaction. */
  callsThirdParty?: boolean;
  /** It changes many records, each in a separate transaction, so that other writes can run in between. */
  severalTransactions?: boolean;
  /** The answer is one record, and carries its ETag. */
  record?: TaggedRecord;
  /** It accepts If-Match, and compares it with the entity tag that this record has before the change. */
  ifMatch?: TaggedRecord;
  output: O;
  /** The statuses of a success, all with the same body. Default: 200. */
  successStatuses?: readonly SuccessStatus[];
  /** The error codes beyond those that follow from the definition, such as those of authentication and validation. */
  errors?: readonly ErrorCode[];
} & ParamsFor<Path, P>;

/** A zod schema, as a structural type. Generics over zod's own classes cost seconds of type checking. */
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

/** Requires a schema for every parameter of the path. A missing one is a compile error. */
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
 * Parses an operation's input `{ path, query, body }`. The parts are not merged: so names cannot collide, and the path of
 * a zod issue is the `loc` of the validation error.
 */
export type InputParser<I, O> = { _input: I; _output: O; parse(raw: unknown): O };

export type Operation<I = unknown, O = unknown, R = unknown> = {
  readonly method: Method;
  readonly path: string;
  readonly operationId: string;
  readonly scope: Scope | null | 'public';
  readonly ownIdParameter?: string;
  readonly allowedBeforeTerms: boolean;
  readonly transport: 'rest' | 'otlp' | 'decision';
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
   * What an Idempotency-Key does. transaction: the answer is stored in the transaction of the effect. lease: the answer is
   * stored after the effect, so a process that dies in between leaves the effect without its answer. none: there is nothing
   * to protect, because the operation writes nothing, or writes spans, which are idempotent by their ids.
   */
  readonly idempotency: 'none' | 'transaction' | 'lease';
  readonly record?: TaggedRecord;
  readonly ifMatch?: TaggedRecord;
  readonly successStatuses: readonly SuccessStatus[];
  readonly errors: readonly ErrorCode[];
  readonly input: InputParser<I, O>;
  readonly output: { _input: R; _output: R; parse(value: unknown): R };
};

/** The groups of the API reference, in their order there. */
export const TAGS = {
  'Service accounts': 'Accounts for programs, and their API keys.',
  Providers:
    'What agents may call: model vendors, MCP servers, agent runtimes and channels, and the items that each of them offers.',
  'Runtime observations': 'What agents were seen to use, and what people decided about it.',
  Agents: 'Agents and services, and what each of them uses.',
  Recommendations: 'Changes that rules propose. Each can be applied, dismissed and undone.',
  Gateways: 'Points where agents connect, and the sessions that permit a subject to use a gateway.',
  Manifests: 'Documents that declare what an agent, gateway or channel uses.',
  'Operator tasks': 'Things that a person has to decide or do.',
  Traces: 'The spans that agents sent, and the endpoints that receive telemetry.',
  Usage: 'How much agents call: calls, errors, tokens and duration, by hour or day.',
  Credentials:
    'The metadata of API keys, provider secrets and signing keys, and the access that was granted with them.',
  Users: 'People: their registration, profiles and accounts.',
  Tenants: 'Tenants, their limits and their members.',
  Audit: 'Who did what, when, and how it ended.',
} as const;
export type Tag = keyof typeof TAGS;

/** Builds an operation from its definition. `params` and `query` are shapes; `body` and `output` are schemas. */
export function operation<
  Path extends string,
  Id extends string,
  O extends Schema,
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Schema | undefined = undefined,
>(
  definition: OperationDefinition<Path, Id, P, Q, B, O>,
): Operation<Side<P, Q, B, 'input'>, Side<P, Q, B, 'output'>, O['_zod']['output']> & { operationId: Id } {
  const {
    params,
    query,
    body,
    output,
    transport = 'rest',
    bodyOptional = false,
    ignoresUnknownQuery = false,
  } = definition;
  const object = ignoresUnknownQuery ? z.object : z.strictObject;
  const parts = {
    path: params && z.object(params as unknown as z.ZodRawShape),
    query: query && object(query as unknown as z.ZodRawShape),
    body: body as unknown as z.ZodType | undefined,
  };
  // A part that the operation does not have is validated too, so that an unexpected query parameter is refused.
  const schema = z.strictObject({
    path: parts.path ?? z.object({}),
    query: parts.query ?? object({}),
    body: parts.body ?? z.unknown().optional(),
  });
  const parse = (raw: unknown) => {
    const given = (raw ?? {}) as Record<string, unknown>;
    // Over tRPC the input may be anything.
    if (typeof given !== 'object' || Array.isArray(given)) return schema.parse(given);
    const parsed = schema.parse({
      ...given,
      path: given.path ?? {},
      query: given.query ?? {},
      body: given.body ?? (bodyOptional ? {} : undefined),
    });
    return Object.fromEntries(Object.entries(parsed).filter(([part]) => parts[part as keyof typeof parts]));
  };
  return {
    operationId: definition.operationId,
    method: definition.method,
    path: definition.path,
    scope: definition.scope,
    tag: definition.tag,
    summary: definition.summary,
    transport,
    allowedBeforeTerms: definition.allowedBeforeTerms ?? false,
    bodyOptional,
    form: definition.form ?? false,
    confidentialBody: definition.confidentialBody ?? false,
    bodyMaxBytes: definition.bodyMaxBytes ?? BODY_MAX_BYTES,
    cost: definition.cost ?? 1,
    ignoresUnknownQuery,
    idempotency: idempotencyOf(definition),
    ...(definition.record !== undefined && { record: definition.record }),
    ...(definition.ifMatch !== undefined && { ifMatch: definition.ifMatch }),
    ...(definition.ownIdParameter !== undefined && { ownIdParameter: definition.ownIdParameter }),
    ...(definition.description !== undefined && { description: definition.description }),
    ...(parts.path && { params: parts.path }),
    ...(parts.query && { query: parts.query }),
    ...(parts.body && { body: parts.body }),
    successStatuses: definition.successStatuses ?? [200],
    errors: definition.errors ?? [],
    // `_input` and `_output` exist only in the types. Nothing reads them at run time.
    input: { parse } as unknown as InputParser<Side<P, Q, B, 'input'>, Side<P, Q, B, 'output'>>,
    output: output as unknown as Operation<unknown, unknown, O['_zod']['output']>['output'],
  };
}

/** Whether a value is an operation. Contract modules also export schemas and helpers. */
export function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'operationId' in value && 'input' in value && 'path' in value;
}

function idempotencyOf({
  method,
  readOnly,
  callsThirdParty,
  severalTransactions,
  transport,
}: Pick<
  OperationDefinition<string, string, unknown, unknown, unknown, unknown>,
  'method' | 'readOnly' | 'callsThirdParty' | 'severalTransactions' | 'transport'
>): Operation['idempotency'] {
  if (method === 'GET' || readOnly || transport === 'otlp' || transport === 'decision') return 'none';
  return callsThirdParty || severalTransactions ? 'lease' : 'transaction';
}
