import type { Provider } from '@quartermaster/contracts/providers.ts';
import { rewrittenName } from '@quartermaster/db/name-family.ts';
import type { SeenSpan } from '../../runtime-observations/provider-match.ts';
import type { Use } from '../dialects/facts.ts';

/** What a span says of the provider of a use, and which provider that was matched to. */
type Matched = { span: Pick<SeenSpan, 'facts' | 'serviceName'>; use: Use; provider: Pick<Provider, 'name' | 'status'> };

/**
 * How well a span knows the provider of what it uses: of several spans that tell of one call, the highest decides.
 * - Models: an address says where the call went, a vendor only whose client was used.
 * - The rest: the name of a server that is declared, then any server that is named, then a guess by what is declared.
 * - 0: nothing but the service itself.
 */
export function certaintyOf({ span, use, provider }: Matched): number {
  const { serverAddress, vendor, toolServer, toolRunsAt } = span.facts;
  if (use.kind === 'agent') return 0;
  const isDeclared = provider.status !== 'discovered';
  if (use.kind === 'model') {
    if (serverAddress !== null) return 3;
    if (vendor !== null) return 2;
    return isDeclared ? 1 : 0;
  }
  const isNamed = toolServer !== null || serverAddress !== null || isNameOf(provider.name, use.name);
  if (isNamed) return isDeclared ? 4 : 3;
  if (isDeclared) return 2;
  return toolRunsAt === 'vendor' ? 1 : 0;
}

/** Whether the name of a tool begins with the name of its server: `mcp__everything__echo`. */
function isNameOf(server: string, tool: string): boolean {
  return rewrittenName(tool)
    .replace(/^mcp_/, '')
    .startsWith(`${rewrittenName(server)}_`);
}
