import type { IncomingMessage } from 'node:http';
import { ApiError, ValidationFailure, valueError } from '../../platform/errors.ts';
import { FORM_MEDIA_TYPE, formIn, isForm } from './form.ts';
import { jsonFault } from './json-fault.ts';
import { hasMoreValuesThan } from '../../platform/json-values.ts';
import { BODY_LIMIT, MAX_CONTAINERS, maxValuesOf } from './limits.ts';

type BodyOptions = {
  /** The body may be absent, empty, or of any media type. */
  optional: boolean;
  /** The parameters of a form (`application/x-www-form-urlencoded`), if the operation takes one. */
  form?: readonly string[] | null;
  /** In bytes; {@link BODY_LIMIT} if absent. */
  limit?: number;
};

/**
 * Reads a request's body once, as JSON or as a form.
 *
 * `application/json` and `application/*+json`, with any parameters, are JSON, and so is a body without a Content-Type. Another
 * type is read as JSON if the body is optional, and refused with 415 if it is required. An absent or empty body is undefined,
 * whatever its Content-Type. FastAPI would refuse another type as a string that is not an object (`model_attributes_type`);
 * 415 tells the caller what to change.
 *
 * @throws ApiError `body_too_large` as soon as the limit is passed (the rest is left unread), `media_type_unsupported`
 * for a media type, charset or content coding that is not read here; ValidationFailure `json_invalid`, alone, or for too
 * many members and items, before they are parsed.
 */
export async function readBody(req: IncomingMessage, options: BodyOptions): Promise<unknown> {
  const { optional, form = null, limit = BODY_LIMIT } = options;
  if (!hasBody(req)) return undefined;
  if (Number(req.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  refuseCoding(req);
  const bytes = await bytesOf(req, limit);
  if (bytes.length === 0) return undefined;
  const contentType = req.headers['content-type'];
  refuseMediaType(contentType, { optional, form: form !== null });
  if (form !== null && isForm(contentType)) return formIn(bytes, form);
  const text = decoded(bytes);
  refuseManyValues(text, maxValuesOf(limit));
  return parsed(text);
}

/**
 * Reads the text of a JSON body once.
 *
 * @param limit in bytes
 * @param most members and items in total
 * @throws ApiError `body_too_large`, `media_type_unsupported`; ValidationFailure `json_invalid` for text that is not UTF-8, or
 *   for too many members and items
 */
export async function readText(req: IncomingMessage, limit: number, most = maxValuesOf(limit)): Promise<string> {
  if (Number(req.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  refuseCoding(req);
  refuseMediaType(req.headers['content-type'], { optional: false, form: false });
  const text = decoded(await bytesOf(req, limit));
  refuseManyValues(text, most);
  return text;
}

/** Whether the request has a body (RFC 9112, section 6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
}

function bytesOf(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (finish: () => void) => {
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      finish();
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else {
        req.pause();
        settle(() => reject(tooLarge(limit)));
      }
    };
    const onEnd = () => settle(() => resolve(Buffer.concat(chunks, size)));
    // The client has disconnected, so the answer is lost. But code that waits for the body must continue.
    const onGone = () =>
      settle(() => reject(new ApiError('request_malformed', 'The connection ended before the body did.')));
    if (req.destroyed) onGone();
    else req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

function refuseManyValues(text: string, most: number): void {
  if (hasMoreValuesThan(text, { items: most, containers: MAX_CONTAINERS }))
    throw valueError(['body'], `body should have at most ${most} members and items in total`);
}

function refuseCoding(req: IncomingMessage): void {
  const coding = (req.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity') return;
  // RFC 9110, section 15.5.16: the header tells whether the coding or the media type was the reason.
  throw new ApiError('media_type_unsupported', 'Send the body without a Content-Encoding.', {
    headers: { 'Accept-Encoding': 'identity' },
  });
}

function refuseMediaType(header: string | undefined, { optional, form }: { optional: boolean; form: boolean }): void {
  if (header === undefined || header.trim() === '') return;
  const [name = '', ...parameters] = header.split(';');
  const known = /^\s*application\/([^\s/;]+\+)?json\s*$/i.test(name) || (form && isForm(header));
  const accepted = ['application/json', ...(form ? [FORM_MEDIA_TYPE] : [])];
  if (!known && !optional) throw unsupported(`Send the body as ${accepted.join(' or ')}.`, accepted);
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/i.exec(one)?.[1]).find(Boolean);
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw unsupported('Send the body in UTF-8.', accepted);
}

function unsupported(detail: string, accepted: readonly string[]): ApiError {
  return new ApiError('media_type_unsupported', detail, { headers: { Accept: accepted.join(', ') } });
}

function tooLarge(limit: number): ApiError {
  return new ApiError('body_too_large', `The body has more than ${limit} bytes.`);
}

/** Ignores a byte order mark, as RFC 8259 permits. */
function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const readable = new TextDecoder().decode(bytes);
    throw invalidJson({ offset: Math.max(readable.indexOf('\uFFFD'), 0), reason: 'Invalid UTF-8' });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidJson(jsonFault(text));
  }
}

function invalidJson({ offset, reason }: { offset: number; reason: string }): ValidationFailure {
  const at = ['body', offset];
  return new ValidationFailure([
    { type: 'json_invalid', loc: at, msg: 'JSON decode error', input: {}, ctx: { error: reason } },
  ]);
}
