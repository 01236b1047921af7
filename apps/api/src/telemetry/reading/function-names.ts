/**
 * The form of names in coding agents that pass every tool to the model as a function. Model APIs accept only such function
 * names. Names of servers are keys of the agent's settings, and may be a few words.
 */
export const FUNCTION_NAMES = {
  tool: /^[\w.:/-]{1,256}$/,
  toolServer: /^[^\s,;!?]{1,64}(?: [^\s,;!?]{1,64}){0,3}$/,
} as const;
