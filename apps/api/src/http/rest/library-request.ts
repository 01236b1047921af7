import type { IncomingMessage } from 'node:http';
import type { TrpcContext } from '../trpc.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const NOTHING = {};

/** The context of a procedure that is called over REST. */
export type RestContext = TrpcContext & {
  /** Whether the answer is 304. Known after the procedure has run. */
  notModified: boolean;
};

/**
 * The request that trpc-to-openapi sees: the method and the path of the real one, and no query or body, because the pipeline
 * reads both. Each member says which line of the library (3.3.0, `dist/esm`) makes it necessary; `test/http/library.test.ts`
 * fails when a version no longer needs it.
 */
export class LibraryRequest {
  /** HEAD is answered like GET. The library has no routes for it (`adapters/node-http/core.mjs:43`). */
  readonly method: string;
  readonly url: string;
  /** Other media types are refused (`core.mjs:54`), before the caller is authenticated. */
  readonly headers = JSON_HEADERS;
  /** The library merges the query, the body and the path's parameters into one input, where names collide (`core.mjs:67`). */
  readonly query = NOTHING;
  /** Otherwise the library reads the body, before the caller is authorized (`core.mjs:67`, `input.mjs:35`). */
  readonly body = NOTHING;
  readonly context: RestContext;

  constructor({ method = '' }: IncomingMessage, pathname: string, context: RestContext) {
    this.method = method === 'HEAD' ? 'GET' : method;
    this.url = exactPath(pathname);
    this.context = context;
  }
}

/**
 * A path that the library matches to a route only if the real path is exactly of that route. It ignores case
 * (`utils/path.mjs:9`), ignores a slash at the end (`path.mjs:2`), and resolves the segments `.` and `..` (`core.mjs:30`). So a
 * character that no literal segment contains is replaced by `~`, and a slash at the end is doubled. Parameters are read from
 * the real path.
 */
function exactPath(pathname: string): string {
  const path = pathname.replaceAll(/[^a-z0-9_/-]/g, '~');
  return path.endsWith('/') ? `${path}/` : path;
}
