import { MARKERS } from './markers.ts';

/** What the model does with the built-in tools of coding agents: a command, a file that does not exist, a search, a subagent. */
export function builtInSteps(): { tool: RegExp; arguments: Record<string, unknown> }[][] {
  const command = `echo ${MARKERS.command}`;
  const file_path = `/nowhere/${MARKERS.path}.txt`;
  const task = { description: MARKERS.toolArgument, prompt: `${MARKERS.subagentTask}: what is the weather?` };
  return [
    [
      { tool: /^(bash|run_shell_command)$/, arguments: { command, description: MARKERS.toolArgument } },
      { tool: /^exec_command$/, arguments: { cmd: command } },
      { tool: /^run_commands$/, arguments: { commands: [command] } },
      // Droid starts its MCP servers while it asks the first question.
      {
        tool: /^execute$/,
        arguments: {
          command: `sleep 3; ${command}`,
          riskLevel: 'low',
          riskLevelReason: MARKERS.toolArgument,
          summary: MARKERS.toolArgument,
        },
      },
    ],
    // Droid loads the tools of MCP servers when the model searches for them.
    [{ tool: /^toolsearch$/, arguments: { query: 'echo sum' } }],
    [
      { tool: /^(read|read_file)$/, arguments: { file_path } },
      { tool: /^(view|view_image)$/, arguments: { path: file_path } },
      { tool: /^read_files$/, arguments: { files: [{ path: file_path }] } },
    ],
    [{ tool: /^(websearch|google_web_search)$/, arguments: { query: MARKERS.toolArgument } }],
    [
      { tool: /^agent$/, arguments: { ...task, subagent_type: 'weather_agent' } },
      {
        tool: /^task$/,
        arguments: {
          ...task,
          agent: 'weather_agent',
          agent_type: 'weather_agent',
          subagent_type: 'weather_agent',
          name: 'weather',
        },
      },
      { tool: /^invoke_agent$/, arguments: { agent_name: 'weather_agent', prompt: task.prompt } },
    ],
  ];
}

/** Whether a coding agent runs the tool itself. */
export function isBuiltIn(name: string): boolean {
  return builtInSteps().some((step) => step.some(({ tool }) => tool.test(name.toLowerCase())));
}
