import * as access from '@quartermaster/contracts/access-requests.ts';
import * as contract from '@quartermaster/contracts/decision-dialects.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ACCESS_REQUEST, ACCESS_REQUEST_STATUS } from './access-requests.ts';
import { AUTHZEN } from './authzen.ts';
import type { Dialect } from './dialect.ts';
import { HOOKS } from './hooks.ts';
import { LITELLM } from './litellm.ts';
import { OPA } from './opa.ts';
import { TOOLHIVE } from './toolhive.ts';

const DIALECTS = new Map<Operation, Dialect>([
  [contract.evaluateAccess, AUTHZEN],
  [contract.evaluateAccessBatch, AUTHZEN],
  [contract.evaluateProviderAccess, AUTHZEN],
  [contract.evaluateProviderAccessBatch, AUTHZEN],
  [access.requestAccess, ACCESS_REQUEST],
  [access.getAccessRequest, ACCESS_REQUEST_STATUS],
  [access.requestProviderAccess, ACCESS_REQUEST],
  [access.getProviderAccessRequest, ACCESS_REQUEST_STATUS],
  [contract.decideAsOpa, OPA],
  [contract.decideForToolhive, TOOLHIVE],
  [contract.decideToolHook, HOOKS],
  [contract.decideForLitellm, LITELLM],
  [contract.decideProviderForLitellm, LITELLM],
]);

export const DIALECT_OPERATIONS: readonly Operation[] = [...DIALECTS.keys()];

/** A request in a dialect. `parameters` are those of the path, decoded. */
export type DialectPath = { operation: Operation; dialect: Dialect; parameters: Record<string, string> };

type Route = { operation: Operation; dialect: Dialect; pattern: RegExp };

/** The last parameter of OPA's path takes the rest of the path. */
const ROUTES: readonly Route[] = [...DIALECTS].map(([operation, dialect]) => {
  const pattern = operation.path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => `(?<${name}>${name === 'path' ? '.+' : '[^/]+'})`,
  );
  return { operation, dialect, pattern: new RegExp(`^${pattern}$`) };
});

/** Finds the dialect that a path asks in. */
export function dialectPathOf(pathname: string): DialectPath | null {
  for (const { operation, dialect, pattern } of ROUTES) {
    const groups = pattern.exec(pathname)?.groups;
    if (!groups) continue;
    try {
      const parameters = Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]);
      return { operation, dialect, parameters: Object.fromEntries(parameters) };
    } catch {
      return null;
    }
  }
  return null;
}
