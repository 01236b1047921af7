import type { Dialect } from '../reading/dialect.ts';
import { openinference } from './openinference.ts';

/**
 * NVIDIA NeMo Agent Toolkit (github.com/NVIDIA/NeMo-Agent-Toolkit, packages/nvidia_nat_core/src/nat/observability/exporter). It writes
 * OpenInference, but the provider of a model is the framework that called it. A function is a part of the workflow, or what
 * runs inside a tool.
 */
export const nemoAgentToolkit: Dialect = {
  ...openinference,
  name: 'nemo-agent-toolkit',
  scopes: ['nat'],
  signature: ['nat.span.kind'],
  readsAlone: true,
  attributes: { ...openinference.attributes, vendor: [], tool: [] },
  ignores: ['llm.provider'],
  content: [...(openinference.content ?? []), 'input.value_obj', 'output.value_obj', 'nat.metadata'],
};
