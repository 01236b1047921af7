import type { DecisionPoint } from '@quartermaster/contracts/gateway-decisions.ts';
import type { Enforcement } from '@quartermaster/contracts/gateways.ts';
import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Services } from '../../platform/services.ts';
import type { CompiledPolicy, CompiledProvider } from '../gateway-sessions/policy.ts';
import type { BindingTokens } from './binding-tokens.ts';
import type { Asked, DecidedSubject } from './decide.ts';

/** An answer to a question, before a dialect words it. */
export type DialectAnswer = {
  /** Whether the use may go on. In the mode `observe` it always may. */
  allowed: boolean;
  /** Why it is denied, or would be in the mode `enforce`. Null: it is permitted. */
  reason: string | null;
  /** The reason as a sentence for people, with a link to the review. Null: it is permitted. */
  explanation: string | null;
  mode: Enforcement;
  /** Waits a moment for the id of a new observation. */
  observationId: () => Promise<string | null>;
  /** The last review task about an observation. Undefined: people cannot permit what was denied, or it was not denied. */
  reviewTask: (observationId: string) => Promise<OperatorTask | undefined>;
  reviewUrl: string | null;
};

type Question = Asked & {
  /** Whether the question filters a list, or was asked before. A denial is not counted then. */
  uncounted?: boolean;
};

/** A request in a dialect. */
export type DialectRequest = {
  /** The validated body and query, as the operation defines them. */
  // Each dialect knows its operation.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
  query: Record<string, string>;
  /** What the path says below its fixed part: the path of OPA, the agent of a hook, or the id of a task. */
  rest: string;
  policy: CompiledPolicy;
  /** Whom the credential stands for. */
  caller: DecidedSubject;
  /** Where an API key may ask about others. Null: a session asks only about itself. */
  reach: TenantScope | null;
  /** Null: the credential is the token of a session. */
  principal: Principal | null;
  requestId: string;
  /** The URL of the decision point: the gateway, or one of its providers. */
  point: string;
  services: Pick<Services, 'db' | 'now' | 'audit' | 'publicUrl'>;
  tokens: BindingTokens;
  /** Sets the status and headers of the answer, in place of 200. */
  head: (status: number, headers: Record<string, string>) => void;
  /** The provider that the path names. If it names none: the one that the gateway lists under this id, name or alias. */
  find: (reference: string | null) => CompiledProvider | undefined;
  /** Decides about the caller, or about another subject. */
  ask: (question: Question, subject?: DecidedSubject) => Promise<DialectAnswer>;
  /** The answer to what cannot be decided. */
  refuse: (reason: string) => DialectAnswer;
  /** Finds a subject that the caller may ask about. Otherwise the result is the reason of the denial. */
  subjectOf: (type: string, id: string, token: string | null) => Promise<DecidedSubject | string>;
};

/** How a protocol of others asks for decisions. Each is a translator: it reads the request, asks, and words the answer. */
export type Dialect = {
  point: DecisionPoint;
  answer: (request: DialectRequest) => Promise<object>;
  /** How many questions a validated body asks. 1 if it is left out. */
  questionsIn?: (body: unknown) => number;
  /** The answer to a request that is refused, if an error would count as permission. */
  refusal?: (detail: string) => object;
};

/** A text member of an object that a client sent. */
export function textOf(object: unknown, name: string): string | null {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, name)) return null;
  const value = (object as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : null;
}
