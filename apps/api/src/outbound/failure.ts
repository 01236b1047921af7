type About = { transient?: boolean; status?: number; retryAfterMs?: number | null; cause?: unknown };

/**
 * Why a request to a provider came to nothing, in words of ours alone: nothing that the far side wrote, and no secret,
 * ever becomes part of one, since tasks, answers and logs repeat it.
 */
export class OutboundFailure extends Error {
  /** Whether asking again may help. */
  readonly transient: boolean;
  /** The HTTP status that was answered; null where the failure is another. */
  readonly status: number | null;
  /** How long the far side asks to be left alone. */
  readonly retryAfterMs: number | null;

  constructor(reason: string, about: About = {}) {
    super(reason, { cause: about.cause });
    this.name = 'OutboundFailure';
    this.transient = about.transient ?? false;
    this.status = about.status ?? null;
    this.retryAfterMs = about.retryAfterMs ?? null;
  }

  /** Whether the credential was refused, or none was sent where one is asked for. */
  get refused(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

/** The failure that an HTTP status is. Too many requests, and what broke over there, may pass. */
export function statusFailure(status: number, headers: Headers, now: Date): OutboundFailure {
  const transient = status === 408 || status === 429 || status >= 500;
  const retryAfterMs = transient ? retryAfterOf(headers.get('retry-after'), now) : null;
  return new OutboundFailure(`it answered HTTP ${status}`, { transient, status, retryAfterMs });
}

/** What broke on the way, from Node's and undici's own codes. */
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
  return new OutboundFailure('the connection was closed before the answer was complete', { transient: true });
}

/** A duration in words. */
export function seconds(milliseconds: number): string {
  return `${milliseconds / 1000} s`;
}

/** Retry-After (RFC 9110, section 10.2.3) in milliseconds; null where there is none that can be read. */
function retryAfterOf(value: string | null, now: Date): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const moment = Date.parse(value);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now.getTime());
}

function failureWithin(error: unknown): OutboundFailure | undefined {
  return chainOf(error).find((one) => one instanceof OutboundFailure);
}

/** The codes of an error and its causes; where there is none, the name. */
function codesWithin(error: unknown): string[] {
  return chainOf(error).map((one) => ('code' in one && typeof one.code === 'string' ? one.code : one.name));
}

/** An error with its causes, and with those of several addresses that were tried. */
function chainOf(error: unknown): Error[] {
  const found: Error[] = [];
  const look = (one: unknown) => {
    if (!(one instanceof Error) || found.includes(one) || found.length >= 20) return;
    found.push(one);
    look(one.cause);
    if (one instanceof AggregateError) for (const inner of one.errors) look(inner);
  };
  look(error);
  return found;
}
