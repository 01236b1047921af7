/** How one recording is made: each package folder exports a list of these as `recordings` from its `recordings.ts`. */
export type RecordingDefinition = {
  /** The name of the recording's file, and of the argument of `npm run test:agents`. */
  name: string;
  /** The framework as its users call it. */
  framework: string;
  /** The npm packages, or aliases of them, whose versions are written into the recording. */
  packages: string[];
  /** Where no package can be run: what its spans are written after. */
  version?: string;
  /** A program beside `recordings.ts`, which ends when its telemetry is sent. */
  program: string;
  args?: string[];
  environment?: Record<string, string>;
  /** The dialects that its spans and log records are read in. */
  dialects: string[];
  /** Markdown: one snippet that switches the telemetry on and sends it to Quartermaster. */
  setUp: string;
  /** What no receiver could know from this telemetry, one reason a line. */
  cannotKnow?: string[];
  /** Whether the MCP server is needed over streamable HTTP. Over stdio it is always there. */
  mcpOverHttp?: true;
};
