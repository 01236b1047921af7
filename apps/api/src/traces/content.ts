import { setAttribute } from '../otlp/assemble.ts';
import { type Attributes, type AttributeValue, type OtlpSpan } from '../otlp/span.ts';
import { cutToBytes } from '../otlp/text.ts';

/**
 * Message bodies and tool arguments: content, not governance. A name stands for itself and for everything flattened below
 * it (`llm.prompts` covers `llm.prompts.0.prompt.text`); `*` stands for any characters but a dot.
 */
const CONTENT = {
  // github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md
  'OpenTelemetry GenAI': [
    'gen_ai.input.messages',
    'gen_ai.output.messages',
    'gen_ai.system_instructions',
    'gen_ai.tool.definitions',
    'gen_ai.tool.call.arguments',
    'gen_ai.tool.call.result',
    'gen_ai.retrieval',
    'gen_ai.memory.query.text',
    'gen_ai.memory.records',
    'gen_ai.evaluation.explanation',
  ],
  // Flattened messages of 2023 and 2024, the events' attributes of semantic-conventions 1.27, Azure's form of them
  'OpenTelemetry GenAI, older': ['gen_ai.prompt', 'gen_ai.completion', 'gen_ai.event.content'],
  // github.com/open-telemetry/semantic-conventions, docs/registry/attributes/{exception,error,http,rpc,process}.md. An agent
  // on a command line has its prompt, and sometimes a secret, among the arguments.
  'OpenTelemetry general': [
    'exception.message',
    'exception.stacktrace',
    'error.message',
    'http.request.header',
    'http.response.header',
    'rpc.request.metadata',
    'rpc.response.metadata',
    'rpc.*.request.metadata',
    'rpc.*.response.metadata',
    'process.command_args',
    'process.command_line',
  ],
  // github.com/Arize-ai/openinference, spec/semantic_conventions.md. Invocation parameters hold tools and instructions.
  OpenInference: [
    'input.value',
    'output.value',
    'input.audio',
    'output.audio',
    'llm.*_messages',
    'llm.prompts',
    'llm.choices',
    'llm.function_call',
    'llm.invocation_parameters',
    'llm.prompt_template.template',
    'llm.prompt_template.variables',
    'llm.tools',
    'message.content',
    'message.contents',
    'message.function_call_arguments_json',
    'message.tool_calls',
    'message_content',
    'tool.parameters',
    'tool.json_schema',
    'tool_call.function.arguments',
    'retrieval.documents',
    'document.content',
    'document.metadata',
    'reranker.query',
    'reranker.*_documents',
    'embedding.embeddings',
    'embedding.text',
    'embedding.vector',
    'prompt.text',
    'completion.text',
    'image.url',
    'audio.url',
    'audio.transcript',
    'video.url',
    'annotation.explanation',
    'evaluation.explanation',
  ],
  // github.com/traceloop/openllmetry, opentelemetry-semantic-conventions-ai
  OpenLLMetry: [
    'traceloop.entity',
    'traceloop.prompt.template',
    'traceloop.prompt.template_variables',
    'llm.completions',
    'llm.request.functions',
    'llm.content.completion.chunk',
    'llm.headers',
    'mcp.request.argument',
    'mcp.response.value',
    'mcp.session.init_options',
    'db.query.result.document',
    'db.query.result.metadata',
    'db.search.result.entity',
  ],
  // ai-sdk.dev, "Telemetry"; github.com/google/adk-python, telemetry
  'Vercel AI SDK, Google ADK': [
    'ai.prompt',
    'ai.response.text',
    'ai.response.object',
    'ai.response.reasoning',
    'ai.response.toolCalls',
    'ai.result.text',
    'ai.result.object',
    'ai.result.toolCalls',
    'ai.toolCall.args',
    'ai.toolCall.result',
    'ai.value',
    'ai.values',
    'ai.embedding',
    'ai.embeddings',
    'gcp.vertex.agent.llm_request',
    'gcp.vertex.agent.llm_response',
    'gcp.vertex.agent.tool_call_args',
    'gcp.vertex.agent.tool_response',
    'gcp.vertex.agent.data',
  ],
};

/** A current name inside a namespace that older instrumentations fill with messages. */
const NOT_CONTENT = new Set(['gen_ai.prompt.name']);

/** Events that are a message (semantic-conventions 1.27 to 1.36, gen-ai-events.md): they keep their name and what is listed here. */
const CONTENT_EVENT = /^gen_ai\.(?:[a-z_]{1,32}\.message|choice|content\.[a-z_]{1,32})$/;
const KEPT_OF_CONTENT_EVENTS = new Set([
  'event.name',
  'gen_ai.system',
  'gen_ai.provider.name',
  'gen_ai.operation.name',
  'gen_ai.request.model',
  'gen_ai.response.model',
  'role',
  'index',
  'finish_reason',
]);

const MAX_STRING_BYTES = 1024;

const CONTENT_NAME = compile(Object.values(CONTENT).flat());

/**
 * A filter for the spans of one batch, on the way to storage. With `keepContent` false it removes content, and a status
 * message too: SDKs and instrumentations write the exception's message there. What is no content is cut at 1 KiB of UTF-8,
 * names included; content that is kept is kept whole.
 *
 * It reads nothing but the span: call `readGenAi` first, on the unfiltered span, since some of what it reads
 * (`traceloop.entity.name`) is removed here. What is unchanged is returned as it is, and the resource and scope that spans
 * share stay shared.
 */
export function contentFilter(options: { keepContent: boolean }): (span: OtlpSpan) => OtlpSpan {
  const { keepContent } = options;
  const verdicts = new Map<string, boolean>();
  const resources = new WeakMap<Attributes, Attributes>();
  const scopes = new WeakMap<OtlpSpan['scope'], OtlpSpan['scope']>();

  function isContent(name: string): boolean {
    let verdict = verdicts.get(name);
    if (verdict === undefined) {
      verdict = CONTENT_NAME.test(name) && !NOT_CONTENT.has(name);
      verdicts.set(name, verdict);
    }
    return verdict;
  }

  /** `above` is the dotted path of the object that the entries stand in: `llm: { prompts: [] }` is `llm.prompts`. */
  function filterEntries(entries: Attributes, above: string): Attributes {
    const kept: Attributes = {};
    let changed = false;
    for (const [name, value] of Object.entries(entries)) {
      const path = above === '' ? name : `${above}.${name}`;
      const content = isContent(path) || (above !== '' && isContent(name));
      if (content && !keepContent) {
        changed = true;
        continue;
      }
      const newName = cut(name);
      const newValue = content ? value : filterValue(value, path);
      if (newName !== name || newValue !== value) changed = true;
      setAttribute(kept, newName, newValue);
    }
    return changed ? kept : entries;
  }

  function filterValue(value: AttributeValue, path: string): AttributeValue {
    if (typeof value === 'string') return cut(value);
    if (typeof value !== 'object' || value === null) return value;
    if (!Array.isArray(value)) return filterEntries(value, path);
    const items = value.map((item) => filterValue(item, path));
    return items.every((item, i) => item === value[i]) ? value : items;
  }

  function filterEvent(event: OtlpSpan['events'][number]): OtlpSpan['events'][number] {
    const isMessage = CONTENT_EVENT.test(event.name);
    if (isMessage && keepContent) return event;
    const named = isMessage ? pick(event.attributes, KEPT_OF_CONTENT_EVENTS) : event.attributes;
    return changedOnly(event, { name: cut(event.name), attributes: filterEntries(named, '') });
  }

  return (span) => {
    const { status, traceState } = span;
    return changedOnly(span, {
      name: cut(span.name),
      status: changedOnly(status, { message: keepContent ? status.message : null }),
      traceState: traceState === null ? null : cut(traceState),
      scope: once(scopes, span.scope, (scope) =>
        changedOnly(scope, {
          name: cut(scope.name),
          version: scope.version === null ? null : cut(scope.version),
          attributes: filterEntries(scope.attributes, ''),
        }),
      ),
      resource: once(resources, span.resource, (resource) => filterEntries(resource, '')),
      attributes: filterEntries(span.attributes, ''),
      events: changedItems(span.events, filterEvent),
      links: changedItems(span.links, (link) => changedOnly(link, { attributes: filterEntries(link.attributes, '') })),
    });
  };
}

function compile(names: string[]): RegExp {
  const patterns = names.map((name) => name.replaceAll('.', '\\.').replaceAll('*', '[^.]*'));
  return new RegExp(`^(?:${patterns.join('|')})(?:\\.|$)`);
}

function cut(text: string): string {
  return cutToBytes(text, MAX_STRING_BYTES);
}

function pick(entries: Attributes, names: ReadonlySet<string>): Attributes {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => names.has(name)));
}

function once<T extends object>(done: WeakMap<T, T>, input: T, map: (input: T) => T): T {
  let output = done.get(input);
  if (output === undefined) {
    output = map(input);
    done.set(input, output);
  }
  return output;
}

/** The object itself where every given field is what it has already. */
function changedOnly<T extends object>(object: T, fields: Partial<T>): T {
  const same = (Object.keys(fields) as (keyof T)[]).every((key) => fields[key] === object[key]);
  return same ? object : { ...object, ...fields };
}

function changedItems<T>(items: T[], map: (item: T) => T): T[] {
  const mapped = items.map(map);
  return mapped.every((item, i) => item === items[i]) ? items : mapped;
}
