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

/** The names that LangChain gives to a graph or a chain without a name. */
const UNNAMED = /^(?:LangGraph|Runnable[A-Z]\w*)$/;

export function isUnnamedRun(name: string | null): boolean {
  return name !== null && UNNAMED.test(name);
}
