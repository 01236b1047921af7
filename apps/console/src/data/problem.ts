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
  return detail.map(({ loc = [], msg = '' }: { loc?: unknown[]; msg?: string }) => {
    return { where: loc.filter((part) => part !== 'body' && part !== 'query').join('.'), message: msg };
  });
}

/** @param labels what people call the values, where that is not their name in the API */
export function faultText({ where, message }: Fault, labels: Record<string, string> = {}): string {
  return where === '' ? message : `${labels[where] ?? where}: ${message}`;
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
