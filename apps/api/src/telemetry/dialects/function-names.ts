/**
 * Names in coding agents that hand every tool to the model as a function: APIs of models take no other names of functions.
 * Names of servers are keys of the agent's settings. They may be some words, but no sentence.
 */
export const FUNCTION_NAMES = {
  tool: /^[\w.:/-]{1,256}$/,
  toolServer: /^[^\s,;!?]{1,64}(?: [^\s,;!?]{1,64}){0,3}$/,
} as const;
