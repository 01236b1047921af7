import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ApiError } from '../../platform/errors.ts';

/** The operation of a request, and its decoded path parameters. */
type RoutedOperation = { operation: Operation; path: Record<string, string> };

type Node = { literals: Map<string, Node>; parameter: Node | null; operations: Map<string, Operation> };

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];

/**
 * Makes the route table. Paths are case-sensitive, and a trailing slash makes another path. A literal segment takes
 * precedence over a parameter, unless it does not have the method: so a record whose id is that literal stays reachable. HEAD
 * is routed like GET.
 *
 * @returns a function that throws ApiError `route_not_found`, or `method_not_allowed` with the header Allow.
 * @throws Error for two operations with the same method and path.
 */
export function routeTable(operations: readonly Operation[]): (method: string, pathname: string) => RoutedOperation {
  const root = node();
  for (const operation of operations) add(root, operation);
  return (method, pathname) => {
    const segments = pathname.split('/').slice(1);
    const found = ends(root, segments, 0);
    const wanted = method === 'HEAD' ? 'GET' : method;
    for (const { operations: here } of found) {
      const operation = here.get(wanted);
      if (operation) return { operation, path: parametersOf(operation, segments) };
    }
    if (found.length === 0) throw notFound();
    const methods = new Set(found.flatMap(({ operations: here }) => [...here.keys()]));
    if (methods.has('GET')) methods.add('HEAD');
    const allow = METHODS.filter((name) => methods.has(name)).join(', ');
    throw new ApiError('method_not_allowed', `This path supports only ${allow}.`, { headers: { Allow: allow } });
  };
}

function node(): Node {
  return { literals: new Map(), parameter: null, operations: new Map() };
}

function add(root: Node, operation: Operation): void {
  let at = root;
  for (const segment of operation.path.split('/').slice(1)) {
    const next = isParameter(segment) ? (at.parameter ?? node()) : (at.literals.get(segment) ?? node());
    if (isParameter(segment)) at.parameter = next;
    else at.literals.set(segment, next);
    at = next;
  }
  if (at.operations.has(operation.method)) {
    throw new Error(`Two operations at ${operation.method} ${operation.path}`);
  }
  at.operations.set(operation.method, operation);
}

/** Every node where the path may end, literals first. */
function ends(at: Node, segments: string[], index: number): Node[] {
  const segment = segments[index];
  if (segment === undefined) return at.operations.size > 0 ? [at] : [];
  const literal = at.literals.get(segment);
  return [
    ...(literal ? ends(literal, segments, index + 1) : []),
    ...(at.parameter && segment !== '' ? ends(at.parameter, segments, index + 1) : []),
  ];
}

function parametersOf(operation: Operation, segments: string[]): Record<string, string> {
  const path: Record<string, string> = {};
  for (const [index, name] of operation.path.split('/').slice(1).entries()) {
    if (isParameter(name)) path[name.slice(1, -1)] = decoded(segments[index] ?? '');
  }
  return path;
}

/** The path was split before decoding, so an encoded slash stays part of the value. */
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
