import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Dialect } from './dialect.ts';

/** The features of MCP, and the operation that uses each. */
const KINDS = new Map<string, InventoryKind>([
  ['mcp:tool:call', 'tool'],
  ['mcp:prompt:get', 'prompt'],
  ['mcp:resource:read', 'resource'],
]);

/** `mrn:mcp:<server>:<feature>:<name>`. The name may have colons. */
const RESOURCE = /^mrn:mcp:([^:]+):(tool|prompt|resource):(.+)$/s;

/** The authorizer `httpv1` of ToolHive (`pkg/authz/authorizers/http`). It denies if the answer is not 200. */
export const TOOLHIVE: Dialect = {
  point: 'toolhive',
  async answer({ body, find, ask, refuse }) {
    const [, server = '', feature = '', name = ''] = RESOURCE.exec(body.resource) ?? [];
    const isList = body.operation === `mcp:${feature}:list`;
    const kind = isList ? KINDS_BY_FEATURE.get(feature) : KINDS.get(body.operation);
    if (kind === undefined || kind !== KINDS_BY_FEATURE.get(feature))
      return { allow: refuse('action_unknown').allowed };
    const { allowed } = await ask({ provider: find(server), kind, name, uncounted: isList });
    return { allow: allowed };
  },
};

const KINDS_BY_FEATURE = new Map([...KINDS].map(([operation, kind]) => [operation.split(':')[1], kind]));
