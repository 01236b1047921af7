/**
 * What went wrong. `answer`: the server refused, or failed. `unreachable`: no answer came, or only a part of it, or that of a proxy.
 * `fault`: the console itself threw an error.
 */
type ProblemKind = 'answer' | 'unreachable' | 'fault';

/** Why something did not work: what the API says (a problem document of RFC 9457, or a list of faults of a request), or no answer. */
export class ApiProblem extends Error {
  readonly kind: ProblemKind;
  /** The status of the answer; 0 if no answer came. */
  readonly status: number;
  readonly code: string;
  readonly scope: string | undefined;
  readonly requestId: string | null;
  /** After how many seconds the server accepts requests again, if there were too many. */
  readonly retryAfterSeconds: number | undefined;
  /** What is wrong with each value of the request, if the answer says so. */
  readonly faults: readonly Fault[];

  /** @param body the body of the answer, or the error of a request that got none or that could not be read */
  constructor(body: unknown, response: Response | undefined, kind = kindOf(body, response)) {
    const { title, detail, code, scope } = fieldsOf(body);
    const faults = faultsOf(body);
    const text = faults.length > 0 ? faults.map((fault) => faultText(fault)).join('; ') : (detail ?? title);
    const retryAfterSeconds = retryAfterOf(response);
    super(
      tooManyText(retryAfterSeconds) ?? text ?? (kind === 'answer' ? NOT_UNDERSTOOD : 'The server did not answer.'),
    );
    this.name = 'ApiProblem';
    this.kind = kind;
    this.status = kind === 'answer' ? (response?.status ?? 0) : 0;
    this.code = code ?? (kind === 'answer' ? `http_${this.status}` : 'unreachable');
    this.scope = scope;
    this.requestId = response?.headers.get('x-request-id') ?? null;
    this.retryAfterSeconds = retryAfterSeconds;
    this.faults = faults;
  }
}

/** A proxy answers so for a server that is away or slow. The server's own answers with these statuses have a code. */
const STATUSES_OF_PROXIES = new Set([502, 503, 504]);

/** The connection can also end in the middle of an answer: the browser then throws a TypeError. */
function kindOf(body: unknown, response: Response | undefined): ProblemKind {
  if (response === undefined || body instanceof TypeError) return 'unreachable';
  return STATUSES_OF_PROXIES.has(response.status) && fieldsOf(body).code === undefined ? 'unreachable' : 'answer';
}

const NOT_UNDERSTOOD = 'The answer could not be read.';

function retryAfterOf(response: Response | undefined): number | undefined {
  const seconds = Number(response?.headers.get('retry-after') ?? Number.NaN);
  return response?.status === 429 && Number.isFinite(seconds) ? seconds : undefined;
}

/** The server names the time in a header, which people do not see. */
function tooManyText(seconds: number | undefined): string | undefined {
  if (seconds === undefined) return undefined;
  return `There were too many requests. Try again in ${seconds === 1 ? '1 second' : `${seconds} seconds`}.`;
}

type Fields = { title?: string; detail?: string; code?: string; scope?: string };

function fieldsOf(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || body instanceof Error) return {};
  return Array.isArray((body as { detail?: unknown }).detail) ? { code: 'validation_failed' } : body;
}

/** `where` is the path of the value, such as `baseUrl`; empty: the request as a whole. */
type Fault = { where: string; message: string };

function faultsOf(body: unknown): Fault[] {
  const detail: unknown = typeof body === 'object' && body !== null && 'detail' in body ? body.detail : undefined;
  if (!Array.isArray(detail)) return [];
  return detail.map(({ loc = [], ...wording }: Detail) => {
    return { where: loc.filter((part) => !PARTS.has(part)).join('.'), message: wordsOf(wording) };
  });
}

/** The parts of a request, which precede the name of a value. */
const PARTS: ReadonlySet<unknown> = new Set(['body', 'query', 'path']);

type Detail = { loc?: unknown[]; msg?: string; ctx?: { pattern?: string } };

/** What the patterns of the API permit, in words. */
const PERMITTED: Record<string, string> = {
  '^[A-Za-z0-9][A-Za-z0-9._:-]*$':
    'Use letters, digits, dots, colons, hyphens and underscores, and begin with a letter or a digit',
  "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$": "Use letters, digits and the characters ! # $ % & ' * + . ^ _ ` | ~ -",
};

/** What the server says about a value. A pattern means nothing to most people. */
function wordsOf({ msg = '', ctx }: Detail): string {
  if (ctx?.pattern === undefined) return msg;
  return PERMITTED[ctx.pattern] ?? 'It has characters that are not permitted here, or lacks some that are needed';
}

/** What is wrong with each field of a form, by the name of its value in the request. */
export type FieldErrors = Readonly<Record<string, string | undefined>>;

/** What the server said about the fields of a form that it refused. */
export function fieldErrorsOf(error: Error | null): FieldErrors {
  const faults = error === null ? [] : problemOf(error).faults;
  return Object.fromEntries(faults.map(({ where, message }) => [where, message]));
}

export function faultText({ where, message }: Fault): string {
  return where === '' ? message : `${where}: ${message}`;
}

/** Errors of parts of the page that could not be loaded: the server is away, or a new version has other files. */
const loadErrors = new WeakSet<object>();

export function noteLoadError(error: object): void {
  loadErrors.add(error);
}

export function isLoadError(error: unknown): boolean {
  return error instanceof Error && loadErrors.has(error);
}

/** Any thrown value as a problem, so that screens have one kind of error to show. */
export function problemOf(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new ApiProblem({ detail, code: 'console_fault' }, undefined, 'fault');
}
