import type { Provider } from '@quartermaster/contracts/providers.ts';
import { vendorOfHost } from '@quartermaster/naming/vendors.ts';
import { isOfOtherVendor } from '../../governance/declarations/known-providers.ts';
import type { Facts } from '../reading/facts.ts';
import { isHost } from '../reading/server-address.ts';
import { TOOLS_OF_VENDORS } from '../reading/server-tools.ts';
import type { BatchLookup } from './batch-lookup.ts';
import type { Discovery } from './discovery.ts';
import type { Match, MatchableSpan } from './match.ts';
import { isServerName, type Servers } from './servers.ts';

export type ToolRuleContext = { lookup: BatchLookup; servers: Servers; discovery: Discovery };
type Rule = (context: ToolRuleContext, span: MatchableSpan, written: string) => Match | undefined;

/** Finds the tool that a name means, and its provider: the first rule that finds one decides. */
export function matchTool(context: ToolRuleContext, span: MatchableSpan, written: string): Match {
  for (const rule of RULES) {
    const match = rule(context, span, written);
    if (match) return match;
  }
  return toolOfService(context, span, written);
}

const RULES: readonly Rule[] = [
  toolAtKnownServer,
  toolOfServerInName,
  toolOfNewServer,
  soleDeclaredTool,
  toolRunByVendor,
];

/** The tool whose name is written as a hash, at any server; otherwise the tool of the server that the span means. */
function toolAtKnownServer({ lookup, servers }: ToolRuleContext, span: MatchableSpan, written: string) {
  const server = servers.find(span, written);
  return lookup.hashedTool(written, server) ?? (server && servers.toolAt(server, written));
}

function toolOfServerInName({ servers }: ToolRuleContext, _span: MatchableSpan, written: string) {
  return servers.inToolName(written);
}

/** A new server, by the name or address in the span, or by the form of the tool's name. */
function toolOfNewServer({ servers, discovery }: ToolRuleContext, { facts }: MatchableSpan, written: string) {
  const named = facts.toolServer ?? (isServerName(facts.serverAddress) ? facts.serverAddress : null);
  if (named !== null) return servers.toolAt(discovery.discover([named], 'mcp'), written);
  const address = facts.toolRunsAt === 'vendor' ? null : toolAddress(facts);
  if (address !== null) {
    const kind = facts.mcpMethod === null ? 'agent_runtime' : 'mcp';
    return servers.toolAt(discovery.discover([address], kind), written);
  }
  const explicit = servers.written(written).splits.find(({ isExplicit }) => isExplicit);
  return explicit && { provider: discovery.discover([explicit.server], 'mcp'), name: explicit.tool };
}

function soleDeclaredTool({ lookup }: ToolRuleContext, { facts }: MatchableSpan, written: string) {
  const sole = lookup.soleTool(written);
  return sole && !isRunElsewhere(sole.provider, vendorThatRuns(facts), written) ? sole : undefined;
}

function toolRunByVendor({ lookup, servers, discovery }: ToolRuleContext, { facts }: MatchableSpan, written: string) {
  const vendor = vendorThatRuns(facts);
  if (vendor === null) return undefined;
  const { providers } = lookup;
  const atAddress = facts.serverAddress === null ? [] : providers.findAtHost(facts.serverAddress, facts.serverPort);
  const [known] = [...atAddress, ...providers.findOfVendor(vendor)];
  return servers.toolAt(known ?? discovery.discover([vendor], 'llm', vendor), written);
}

function toolOfService({ servers, discovery }: ToolRuleContext, span: MatchableSpan, written: string): Match {
  const service = span.facts.mcpMethod === null ? discovery.service(span) : discovery.mcpService(span);
  return servers.toolAt(service, written);
}

function vendorThatRuns({ toolRunsAt, vendor }: Facts): string | null {
  return toolRunsAt === 'vendor' ? vendor : null;
}

/** The host of a span's address, unless it is a vendor's API. */
function toolAddress({ serverAddress }: Facts): string | null {
  return serverAddress !== null && isHost(serverAddress) && vendorOfHost(serverAddress) === null ? serverAddress : null;
}

/**
 * Whether a vendor's run of a tool is not that of the provider which declares one of this name. Vendors also call tools of MCP servers,
 * which do not have the names of the vendors' own tools.
 */
function isRunElsewhere(provider: Provider, runBy: string | null, tool: string): boolean {
  if (runBy === null) return false;
  return provider.kind === 'llm' ? isOfOtherVendor(provider, runBy) : TOOLS_OF_VENDORS.has(tool);
}
