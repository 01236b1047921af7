import type { Dialect } from '../reading/dialect.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { readInside } from '../reading/inside.ts';

/**
 * Factory's Droid (docs.factory.ai, OTEL_CUSTOMER_ENABLED). Its format `genai` is OpenTelemetry GenAI without vendor and tokens. Its
 * format `legacy` has a span for each message, call of a tool and result of a tool.
 */
export const droid: Dialect = {
  name: 'droid',
  scopes: ['cli-agent-trace', 'cli-customer-events'],
  attributes: {
    model: ['gen_ai.request.model', 'model.id'],
    tool: ['gen_ai.tool.name', 'tool.name'],
    callId: ['gen_ai.tool.call.id', 'tool.id'],
    conversationId: ['gen_ai.conversation.id', 'session.id'],
    agent: ['gen_ai.agent.name'],
  },
  spanNames: [
    { pattern: /^droid\.tool\.call$/, operation: 'execute_tool' },
    { pattern: /^droid\.message\.assistant$/, operation: 'chat' },
    { pattern: /^droid\.message\.user$/, operation: 'invoke_agent' },
    { pattern: /^droid\./, operation: 'event' },
  ],
  defaults: { agent: 'droid' },
  names: FUNCTION_NAMES,
  agentTools: ['*'],
  mcpTools: 'server___tool',
  rejected: { errorType: /^(?:denied|rejected)$/ },
  content: ['message.content', 'tool.input', 'tool.result', 'user.email'],
  safe: ['message.role', 'prompt.id', 'tool.is_error'],
  alsoReads: ['gen_ai.tool.call.arguments', 'tool.input'],
  refine(_span, facts) {
    if (facts.operation === 'event') facts.model = null;
    if (facts.model !== null) facts.model = CUSTOM_MODEL.exec(facts.model)?.[1] ?? facts.model;
  },
  uses({ attributes }, { operation, toolServer }, usual) {
    if (operation !== 'execute_tool' || toolServer !== null) return usual;
    const given = attributes['gen_ai.tool.call.arguments'] ?? attributes['tool.input'];
    const subagent = readInside(given, ['subagent_type']);
    if (typeof subagent !== 'string' || !FUNCTION_NAMES.tool.test(subagent)) return usual;
    return [...usual, { kind: 'agent', name: subagent }];
  },
};

/** The id that Droid makes from the display name of a user's own model. */
const CUSTOM_MODEL = /^custom:(.+?)(?:-\d+)?$/;
