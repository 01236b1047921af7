type About = { transient?: boolean; status?: number; retryAfterMs?: number | null; cause?: unknown };

/**
 * Why a request to a provider failed. The message contains only our own words, never a secret or text from the provider,
 * because tasks, responses and logs repeat it.
 */
export class OutboundFailure extends Error {
  /** Whether a retry may succeed. */
  readonly transient: boolean;
  /** The HTTP status of the response; null if the failure is not about a status. */
  readonly status: number | null;
  /** How long the provider asks to wait (Retry-After). */
  readonly retryAfterMs: number | null;

  constructor(reason: string, about: About = {}) {
    super(reason, { cause: about.cause });
    this.name = 'OutboundFailure';
    this.transient = about.transient ?? false;
    this.status = about.status ?? null;
    this.retryAfterMs = about.retryAfterMs ?? null;
  }

  /** Whether the provider refused the credential, or requires one. */
  get refused(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

/** The failure for an HTTP error status. 408, 429 and 5xx are transient. */
export function statusFailure(status: number, headers: Headers, now: Date): OutboundFailure {
  const transient = status === 408 || status === 429 || status >= 500;
  const retryAfterMs = transient ? retryAfterOf(headers.get('retry-after'), now) : null;
  return new OutboundFailure(`it answered HTTP ${status}`, { transient, status, retryAfterMs });
}

/** The failure for a network error, from Node's and undici's error codes. */
export function transportFailure(error: unknown, limits: { connectMs: number }): OutboundFailure {
  const failure = failureWithin(error);
  if (failure) return failure;
  const codes = codesWithin(error);
  const has = (pattern: RegExp) => codes.some((code) => pattern.test(code));
  if (has(/^ENOTFOUND$|^EAI_/)) return new OutboundFailure('its name does not resolve', { transient: true });
  if (has(/^ECONNREFUSED$/)) return new OutboundFailure('the connection was refused', { transient: true });
  if (has(/^UND_ERR_CONNECT_TIMEOUT$|^ETIMEDOUT$/)) {
    return new OutboundFailure(`no connection within ${seconds(limits.connectMs)}`, { transient: true });
  }
  if (has(/^CERT_|^ERR_TLS|^UNABLE_TO|SELF_SIGNED|^ERR_SSL/)) {
    return new OutboundFailure('no trusted TLS connection could be made');
  }
  if (has(/^HPE_|^HTTPParserError$|^UND_ERR_HEADERS_OVERFLOW$/)) {
    return new OutboundFailure('it answered something that is not HTTP');
  }
  if (has(/^Z_|^ERR_BROTLI|^ERR__ERROR|^ZSTD/)) return new OutboundFailure('the answer cannot be unpacked');
  // https://fetch.spec.whatwg.org/#port-blocking. undici's error has no code.
  if (withCauses(error).some(({ message }) => message === 'bad port')) {
    return new OutboundFailure('its port is reserved for another protocol');
  }
  return new OutboundFailure('the connection was closed before the answer was complete', { transient: true });
}

/** A duration as text. */
export function seconds(milliseconds: number): string {
  return `${milliseconds / 1000} s`;
}

/** Retry-After (RFC 9110, section 10.2.3) in milliseconds; null if it is missing or invalid. */
function retryAfterOf(value: string | null, now: Date): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const moment = Date.parse(value);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now.getTime());
}

function failureWithin(error: unknown): OutboundFailure | undefined {
  return withCauses(error).find((cause) => cause instanceof OutboundFailure);
}

/** The codes of an error and its causes, or the name of one without a code. */
function codesWithin(error: unknown): string[] {
  return withCauses(error).map((one) => ('code' in one && typeof one.code === 'string' ? one.code : one.name));
}

/** An error with all its causes. With several addresses there is an AggregateError with one error for each. */
function withCauses(error: unknown): Error[] {
  const found: Error[] = [];
  const collect = (one: unknown) => {
    if (!(one instanceof Error) || found.includes(one) || found.length >= 20) return;
    found.push(one);
    collect(one.cause);
    if (one instanceof AggregateError) for (const inner of one.errors) collect(inner);
  };
  collect(error);
  return found;
}
