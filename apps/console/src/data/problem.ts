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
  /** Seconds to wait, if the answer says so. */
  readonly retryAfter: number | null;

  /** @param body the body of the answer, or the error of a request that got none or that could not be read */
  constructor(body: unknown, response: Response | undefined, kind = kindOf(body, response)) {
    const { title, detail, code, scope } = fieldsOf(body);
    super(detail ?? title ?? (kind === 'answer' ? 'The answer could not be read.' : 'The server did not answer.'));
    this.name = 'ApiProblem';
    this.kind = kind;
    this.status = kind === 'answer' ? (response?.status ?? 0) : 0;
    this.code = code ?? (kind === 'answer' ? `http_${this.status}` : 'unreachable');
    this.scope = scope;
    this.requestId = response?.headers.get('x-request-id') ?? null;
    const seconds = Number(response?.headers.get('retry-after') ?? Number.NaN);
    this.retryAfter = Number.isFinite(seconds) ? seconds : null;
  }
}

/** A proxy answers so for a server that is away or slow. The server's own answers with these statuses have a code. */
const STATUSES_OF_PROXIES = new Set([502, 503, 504]);

/** The connection can also end in the middle of an answer: the browser then throws a TypeError. */
function kindOf(body: unknown, response: Response | undefined): ProblemKind {
  if (response === undefined || body instanceof TypeError) return 'unreachable';
  return STATUSES_OF_PROXIES.has(response.status) && fieldsOf(body).code === undefined ? 'unreachable' : 'answer';
}

type Fields = { title?: string; detail?: string; code?: string; scope?: string };

function fieldsOf(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || body instanceof Error) return {};
  const { detail } = body as { detail?: unknown };
  if (!Array.isArray(detail)) return body;
  const faults = detail.map((fault: { loc?: unknown[]; msg?: string }) => {
    const where = (fault.loc ?? []).filter((part) => part !== 'body' && part !== 'query').join('.');
    return where === '' ? (fault.msg ?? '') : `${where}: ${fault.msg ?? ''}`;
  });
  return { detail: faults.join('; '), code: 'validation_failed' };
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
