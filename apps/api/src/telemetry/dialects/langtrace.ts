import type { Dialect } from './dialect.ts';

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
  alsoReads: ['langtrace.service.type', 'langtrace.service.name'],
  refine({ attributes, scope }, facts) {
    // The instrumentation of Anthropic's client for TypeScript exchanges the two counts.
    if (scope.name === '@langtrase/typescript-sdk' && attributes['langtrace.service.name'] === 'anthropic') {
      const { inputTokens, outputTokens } = facts;
      Object.assign(facts, { inputTokens: outputTokens, outputTokens: inputTokens });
    }
    if (attributes['langtrace.service.type'] === 'llm') return;
    const { 'gen_ai.provider.name': provider, 'gen_ai.system': system } = attributes;
    if (provider === undefined && system === undefined) facts.vendor = null;
  },
};
