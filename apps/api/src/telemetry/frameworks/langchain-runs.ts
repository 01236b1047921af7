import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import { ownMember } from '../../platform/own-member.ts';
import type { AttributeValue } from '../otlp/span.ts';
import type { Facts } from '../reading/facts.ts';
import { parsedAttribute } from '../reading/inside.ts';

/**
 * Some callback handlers for LangChain's runs call every run an agent that has "agent" in its name. The metadata of a run names the
 * agent around it, if the agent was made by `create_agent`.
 *
 * @returns whether the run is that of an agent
 */
export function isAgentRun(name: string, agentAround: unknown): boolean {
  // The first node of a graph that `create_react_agent` makes is called `agent`.
  return agentAround === null ? name !== 'agent' : name === agentAround;
}

/**
 * Whether the last message in the output of a graph has the name of the graph. Agents of LangGraph write their own name into
 * their messages. For `createReactAgent`, and for an agent that another agent calls as a tool, nothing else shows the agent.
 */
export function isNamedInOutput(name: string, output: AttributeValue | undefined): boolean {
  // A shortcut: few outputs contain the name, so most need not be parsed.
  if (typeof output !== 'string' || !output.includes(JSON.stringify(name))) return false;
  const messages = ownMember(parsedAttribute(output), 'messages');
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  const message = ownMember(last, 'kwargs') ?? last;
  return ownMember(message, 'name') === name && ownMember(message, 'tool_call_id') === undefined;
}

/**
 * Corrects the vendor of a client that extends OpenAI's: DeepSeek's keeps OpenAI as the vendor.
 *
 * @param versions the client's packages with their versions, as an object or as JSON
 */
export function correctVendorOfClient(facts: Facts, versions: unknown): void {
  if (facts.vendor !== 'openai' || facts.model === null) return;
  const packages = Object.keys(Object(typeof versions === 'string' ? parsedAttribute(versions) : versions));
  const vendors = packages.flatMap((name) => canonicalVendor(name.replace(/^@langchain\//, '')) ?? []);
  facts.vendor = vendors.find((vendor) => vendor !== 'openai') ?? 'openai';
}
