import * as contract from '@quartermaster/contracts/gateway-decisions.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';

/** A request that the decision receiver answers. */
export type DecisionPath = {
  operation: Operation;
  gatewayId: string;
  /** The provider that the path names, decoded; null if it names none. */
  provider: string | null;
  /** What follows the last fixed segment, as sent. */
  rest: string;
  /** What a path that asks for the session alone has next: proxies may append the path of their request. Null: nothing. */
  below: string | null;
};

/** The operations that the receiver serves. They are not tRPC procedures, because their credential is a session's token. */
export const DECISION_OPERATIONS: readonly Operation[] = [
  contract.getOwnGatewaySession,
  contract.decideAccess,
  contract.authorizeSession,
  contract.authorizeMcpRequest,
  contract.authorizeModelCall,
  contract.sendMcpMessage,
  contract.openMcpStream,
  contract.endMcpSession,
];

/**
 * The segments of a provider come first: proxies may append the path of their request to each of the two forms of `authorize`.
 */
const PATH =
  /^\/v1\/gateways\/([^/]+)\/(?:authorize\/([^/]+)\/(mcp|models)(\/.*)?|(session|decisions)|authorize(?:\/([^/]*).*)?)$/;

const PROXY_PATH = /^\/v1\/gateways\/([^/]+)\/mcp\/([^/]+)$/;

/** Finds the decision that a path asks for. */
export function decisionPathOf(pathname: string, method: string | undefined): DecisionPath | null {
  const proxied = PROXY_PATH.exec(pathname);
  if (proxied) return proxyPathOf(proxied, method);
  const found = PATH.exec(pathname);
  if (!found) return null;
  const [, gateway = '', provider, kind, rest = '', plain, next] = found;
  const gatewayId = decoded(gateway);
  if (gatewayId === null) return null;
  if (provider === undefined) {
    const operation =
      plain === 'session'
        ? contract.getOwnGatewaySession
        : plain === 'decisions'
          ? contract.decideAccess
          : contract.authorizeSession;
    return { operation, gatewayId, provider: null, rest, below: next === undefined ? null : decoded(next) };
  }
  const operation = kind === 'mcp' ? contract.authorizeMcpRequest : contract.authorizeModelCall;
  return { operation, gatewayId, provider: decoded(provider), rest, below: null };
}

/** Any other method is treated like POST, and refused later. */
function proxyPathOf(
  [, gateway = '', provider = '']: RegExpExecArray,
  method: string | undefined,
): DecisionPath | null {
  const gatewayId = decoded(gateway);
  if (gatewayId === null) return null;
  const operation =
    method === 'GET' ? contract.openMcpStream : method === 'DELETE' ? contract.endMcpSession : contract.sendMcpMessage;
  return { operation, gatewayId, provider: decoded(provider), rest: '', below: null };
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
