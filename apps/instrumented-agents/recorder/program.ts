/** What a program under record needs to know about its surroundings. */
import { countInto } from './truth.ts';

export const telemetryUrl = required('OTEL_EXPORTER_OTLP_ENDPOINT');
export const modelServerUrl = required('MODEL_SERVER_URL');

/** The command that runs the MCP server `everything` over stdio. */
export const mcpCommand = { command: required('MCP_COMMAND'), args: JSON.parse(required('MCP_ARGUMENTS')) as string[] };

/** The streamable HTTP endpoint of the MCP server `everything`; undefined unless the definition says `mcpOverHttp`. */
export const mcpUrl = process.env['MCP_URL'];

/**
 * To be called inside a local tool: nothing else sees that it ran.
 * @param server the MCP server inside the program that has the tool
 */
export function countTool(
  name: string,
  { failed = false, server = null }: { failed?: boolean; server?: string | null } = {},
): void {
  countInto(required('QM_TRUTH_FILE'), { kind: 'tool', name, server, runsAt: null, failed });
}

/** To be called when the program starts an agent. */
export function countAgent(name: string): void {
  countInto(required('QM_TRUTH_FILE'), { kind: 'agent', name });
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this program with npm run test:agents`);
  return value;
}
