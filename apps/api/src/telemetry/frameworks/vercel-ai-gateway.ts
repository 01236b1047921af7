import type { Dialect } from '../reading/dialect.ts';

/**
 * The attempts of Vercel's AI Gateway to call a model (vercel.com/docs/ai-gateway, "AI Gateway traces"). Each attempt is a call of its
 * own, and may be at another vendor. The span around them is read by OpenTelemetry's names.
 */
export const vercelAiGateway: Dialect = {
  name: 'vercel-ai-gateway',
  signature: ['vercel.ai_gateway.attempt.*'],
  defaults: { operation: 'chat' },
};
