import type { Provider } from '@quartermaster/contracts/providers.ts';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { hostOf, isSendersOwnHost } from '@quartermaster/naming/provider-names.ts';
import type { MatchableSpan } from '../matching/match.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import type { Use } from '../reading/facts.ts';

/** A use in a span, and the provider that it was matched to. */
type MatchedUse = {
  span: Pick<MatchableSpan, 'facts' | 'serviceName'>;
  use: Use;
  provider: Pick<Provider, 'name' | 'status' | 'subTenantId' | 'baseUrl'>;
  isTenantBlock: boolean;
};

/**
 * How well a span knows the provider of a use. Of several spans that report one call, the highest certainty decides.
 * - Models: an address (4) says where the call went. A vendor (2) says only whose client library was used.
 * - Tools, prompts, resources: a named server that is declared (4), any named server (3), a declared provider that was found by
 *   the name of the tool (2), a tool that the vendor runs (1).
 * - 0: nothing is known but the service.
 *
 * A block of the whole tenant can take a model (5 with an address, otherwise 3) or a tool (5) from a sub-tenant's provider. Its
 * certainty is higher than that of spans that match the sub-tenant's providers. Only a provider at an address of its own keeps
 * a tool (6) or a model.
 */
export function certaintyOf({ span, use, provider, isTenantBlock }: MatchedUse): number {
  const { serverAddress, vendor, toolServer, toolRunsAt } = span.facts;
  if (use.kind === 'agent') return 0;
  const isDeclared = provider.status !== 'discovered';
  if (use.kind === 'model') {
    if (serverAddress !== null) return isTenantBlock ? 5 : 4;
    if (isTenantBlock) return 3;
    if (vendor !== null) return 2;
    return isDeclared ? 1 : 0;
  }
  if (isTenantBlock) return 5;
  if (isAtOwnAddress(provider, serverAddress)) return 6;
  const isNamed = toolServer !== null || serverAddress !== null || isNameOf(provider.name, use.name);
  if (isNamed) return isDeclared ? 4 : 3;
  if (isDeclared) return 2;
  return toolRunsAt === 'vendor' ? 1 : 0;
}

function isAtOwnAddress({ subTenantId, baseUrl }: MatchedUse['provider'], address: string | null): boolean {
  if (subTenantId === null || baseUrl === null || address === null || isSendersOwnHost(address)) return false;
  return hostOf(baseUrl) === address;
}

/** Whether the name of a tool begins with the name of its server: `mcp__everything__echo`. */
function isNameOf(server: string, tool: string): boolean {
  return withoutMcp(tool).startsWith(`${rewritten(server)}_`);
}

const rewritten = memoizeByName(rewrittenName);
const withoutMcp = memoizeByName((tool) => rewrittenName(tool).replace(/^mcp_/, ''));
