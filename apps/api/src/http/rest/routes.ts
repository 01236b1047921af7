import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ApiError } from '../../platform/errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];

/**
 * Refuses routes that trpc-to-openapi would confuse. It tries routes in the order of the router, and the first match wins. So a
 * literal segment takes precedence over a parameter only if its route comes first.
 *
 * @throws Error for two operations with the same route, and for a route whose requests an earlier one would take
 */
export function requireDistinctRoutes(operations: readonly Operation[]): void {
  const routes = operations.map(({ method, path }) => ({ method, path, segments: segmentsOf(path) }));
  for (const [index, later] of routes.entries()) {
    for (const earlier of routes.slice(0, index)) {
      if (earlier.method !== later.method || !overlap(earlier.segments, later.segments)) continue;
      const first = later.segments.findIndex(
        (segment, at) => isParameter(segment) !== isParameter(earlier.segments[at] ?? ''),
      );
      if (first < 0) throw new Error(`Two operations at ${later.method} ${later.path}`);
      if (isParameter(later.segments[first] ?? '')) continue;
      throw new Error(`${later.method} ${later.path} must come before ${earlier.path}, which would take its requests`);
    }
  }
}

/**
 * The decoded parameters of a path that is one of the operation's. It is split before it is decoded, so an encoded slash is
 * part of a value.
 *
 * @throws ApiError `route_not_found` for a malformed escape
 */
export function pathParametersOf({ path }: Operation, pathname: string): Record<string, string> {
  const segments = segmentsOf(pathname);
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segmentsOf(path).entries()) {
    if (isParameter(segment)) parameters[segment.slice(1, -1)] = decoded(segments[index] ?? '');
  }
  return parameters;
}

/** Why no operation has this method and path: `route_not_found`, or `method_not_allowed` with the header Allow. */
export function unmatchedError(operations: readonly Operation[], pathname: string): ApiError {
  const segments = segmentsOf(pathname);
  const here = operations.filter(({ path }) => matches(segmentsOf(path), segments));
  if (here.length === 0) return notFound();
  const methods = new Set<string>(here.map(({ method }) => method));
  if (methods.has('GET')) methods.add('HEAD');
  const allow = METHODS.filter((name) => methods.has(name)).join(', ');
  return new ApiError('method_not_allowed', `This path supports only ${allow}.`, { headers: { Allow: allow } });
}

function matches(template: string[], segments: string[]): boolean {
  if (template.length !== segments.length) return false;
  return template.every((expected, at) => expected === segments[at] || (isParameter(expected) && segments[at] !== ''));
}

/** Whether a path can belong to both routes. */
function overlap(first: string[], second: string[]): boolean {
  if (first.length !== second.length) return false;
  return first.every((segment, at) => {
    const opposite = second[at] ?? '';
    return segment === opposite || isParameter(segment) || isParameter(opposite);
  });
}

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1);
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}

function notFound(): ApiError {
  return new ApiError('route_not_found', 'There is nothing at this path.');
}
