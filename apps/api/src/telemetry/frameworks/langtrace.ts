import { asText } from '../reading/as-text.ts';
import type { Dialect, ReadSource } from '../reading/dialect.ts';

/**
 * Langtrace (github.com/Scale3-Labs/langtrace-typescript-sdk, src/instrumentation; langtrace-python-sdk): OpenTelemetry GenAI
 * of 2024. The vendor stands only in an attribute of its own, which also names vector stores and frameworks.
 */
export const langtrace: Dialect = {
  name: 'langtrace',
  scopes: ['@langtrase/typescript-sdk', /^langtrace_python_sdk\b/],
  signature: ['langtrace.*'],
  attributes: {
    vendor: ['gen_ai.provider.name', 'gen_ai.system', 'langtrace.service.name'],
    // The base URL of the client.
    serverAddress: ['server.address', 'url.full'],
  },
  // Arch is a proxy in front of models.
  vendors: { arch: null },
  operations: { embed: 'embeddings' },
  content: ['gen_ai.request.tools', 'gen_ai.request.embedding_inputs'],
  safe: [
    'langtrace.sdk.name',
    'langtrace.service.name',
    'langtrace.service.type',
    'langtrace.service.version',
    'langtrace.version',
  ],
  alsoReads: ['langtrace.service.type', 'url.path', 'gen_ai.request.stream'],
  refine(span, facts) {
    const { attributes, scope } = span;
    if (scope.name === '@langtrase/typescript-sdk' && isExchanged(span)) {
      const { inputTokens, outputTokens } = facts;
      Object.assign(facts, { inputTokens: outputTokens, outputTokens: inputTokens });
    }
    // Bedrock is called a framework.
    if (attributes['langtrace.service.type'] === 'llm' || facts.vendor === 'aws.bedrock') return;
    const { 'gen_ai.provider.name': provider, 'gen_ai.system': system } = attributes;
    if (provider === undefined && system === undefined) facts.vendor = null;
  },
};

/** Whether the instrumentation of the client exchanges the two counts. Some do so for streams alone. */
function isExchanged({ name, attributes }: ReadSource): boolean {
  const isStream = attributes['gen_ai.request.stream'] === true || name.endsWith('Stream');
  if (attributes['langtrace.service.name'] === 'cohere') return attributes['url.path'] !== '/v2/chat';
  return (isStream ? EXCHANGE_IN_STREAMS : EXCHANGE).test(asText(attributes['langtrace.service.name']));
}

const EXCHANGE = /^(?:anthropic|ollama)$/;

const EXCHANGE_IN_STREAMS = /^(?:anthropic|awsbedrock|gemini|mistral|ollama|openai)$/;
