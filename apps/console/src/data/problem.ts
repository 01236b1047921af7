/** What the API says when it refuses: a problem document (RFC 9457), or a list of faults of a request. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly scope: string | undefined;
  readonly requestId: string | null;
  /** Seconds to wait, if the answer says so. */
  readonly retryAfter: number | null;

  constructor(body: unknown, response: Response | undefined) {
    const { title, detail, code, scope } = fieldsOf(body);
    super(detail ?? title ?? 'The server did not answer.');
    this.name = 'ApiProblem';
    this.status = response?.status ?? 0;
    this.code = code ?? (response === undefined ? 'unreachable' : `http_${response.status}`);
    this.scope = scope;
    this.requestId = response?.headers.get('x-request-id') ?? null;
    const seconds = Number(response?.headers.get('retry-after') ?? Number.NaN);
    this.retryAfter = Number.isFinite(seconds) ? seconds : null;
  }
}

type Fields = { title?: string; detail?: string; code?: string; scope?: string };

function fieldsOf(body: unknown): Fields {
  if (typeof body !== 'object' || body === null) return {};
  const { detail } = body as { detail?: unknown };
  if (!Array.isArray(detail)) return body;
  const faults = detail.map((fault: { loc?: unknown[]; msg?: string }) => {
    const where = (fault.loc ?? []).filter((part) => part !== 'body' && part !== 'query').join('.');
    return where === '' ? (fault.msg ?? '') : `${where}: ${fault.msg ?? ''}`;
  });
  return { detail: faults.join('; '), code: 'validation_failed' };
}

/** Any thrown value as a problem, so that screens have one kind of error to show. */
export function problemOf(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem(
    { detail: error instanceof Error ? error.message : String(error), code: 'client_error' },
    undefined,
  );
}
