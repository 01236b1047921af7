import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { AIMessage } from '@langchain/core/messages';
import { FakeBuiltModel } from '@langchain/core/testing';
import { DynamicStructuredTool } from '@langchain/core/tools';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { createAgent } from 'langchain';
import { Failure } from './failure.ts';

export const AGENT = 'trip-planner';

/** An undeclared tool: a function of the agent's own program. */
export const LOCAL_TOOL = 'book_hotel';

/** The tools of the MCP server that the agent uses. */
const MCP_TOOLS = ['get-sum', 'echo'] as const;

const MODEL = 'scripted-1';

/**
 * Runs a LangChain agent with real tools of the MCP server, one tool of its own, and a scripted model. OpenInference's
 * instrumentation of LangChain traces it, and OpenTelemetry's exporter sends the spans.
 *
 * @returns the id of its trace, when every span has arrived
 */
export async function runAgent({ url, key, mcpUrl }: { url: string; key: string; mcpUrl: string }): Promise<string> {
  const exporter = new CheckedExporter({ url: `${url}/v1/traces`, headers: { 'x-api-key': key } });
  const tracing = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': AGENT }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  new LangChainInstrumentation({ tracerProvider: tracing }).manuallyInstrument(callbackManager);
  const mcp = new MultiServerMCPClient({ mcpServers: { everything: { transport: 'http', url: mcpUrl } } });
  try {
    const offered = await mcp.getTools();
    const bookHotel: Tool = new DynamicStructuredTool({
      name: LOCAL_TOOL,
      description: 'Books a hotel',
      schema: { type: 'object', properties: { nights: { type: 'integer' } }, required: ['nights'] },
      func: async ({ nights }: { nights: number }) => `Booked for ${nights} nights.`,
    });
    const wanted = offered.filter(({ name }) => (MCP_TOOLS as readonly string[]).includes(name));
    const agent = createAgent({ name: AGENT, model: scriptedModel(), tools: [...wanted, bookHotel] satisfies Tool[] });
    await agent.invoke({ messages: [{ role: 'user', content: 'Three nights in Lisbon and two in Porto, please.' }] });
  } finally {
    await mcp.close();
  }
  await tracing.forceFlush();
  await tracing.shutdown();
  return exporter.traceId();
}

type Tool = Awaited<ReturnType<MultiServerMCPClient['getTools']>>[number];

/** An exporter only logs that it failed. The quickstart cannot continue without the spans, so this one keeps the error. */
class CheckedExporter extends OTLPTraceExporter {
  #traceId: string | undefined;
  #error: Error | undefined;

  override export(...[spans, done]: Parameters<OTLPTraceExporter['export']>): void {
    super.export(spans, (result) => {
      this.#traceId ??= spans[0]?.spanContext().traceId;
      this.#error ??= result.error;
      done(result);
    });
  }

  traceId(): string {
    if (this.#error || this.#traceId === undefined) {
      throw new Failure('The spans of the agent did not arrive.', { cause: this.#error });
    }
    return this.#traceId;
  }
}

/** LangChain's own fake chat model, with a name, and a script of tool calls. */
class ScriptedModel extends FakeBuiltModel {
  override invocationParams(): { model: string } {
    return { model: MODEL };
  }

  /** The default would report the name of the class as the vendor. */
  override getLsParams(): { ls_model_type: 'chat' } {
    return { ls_model_type: 'chat' };
  }

  /** The default would create another model without the name. The script does not need the tools. */
  override bindTools(): never {
    return this as never;
  }
}

function scriptedModel(): ScriptedModel {
  const model = new ScriptedModel();
  model.respondWithTools([{ name: 'get-sum', args: { a: 3, b: 2 } }]);
  model.respondWithTools([
    { name: 'echo', args: { message: 'Five nights in all.' } },
    { name: LOCAL_TOOL, args: { nights: 5 } },
  ]);
  model.respond(new AIMessage('Five nights are booked.'));
  return model;
}
