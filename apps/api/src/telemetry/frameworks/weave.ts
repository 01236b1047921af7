import type { Dialect } from '../reading/dialect.ts';

/**
 * The conversations of W&B Weave's SDK for TypeScript (github.com/wandb/weave, sdks/node/src/genai). It writes OpenTelemetry GenAI. The
 * span of a turn has the kind `client`, although the agent runs in this process, and the model that the agent was set up with.
 */
export const weave: Dialect = {
  name: 'weave',
  scopes: ['weave-genai'],
  wrappers: ['invoke_agent'],
};
