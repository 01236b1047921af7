/**
 * The agent of the recordings of LangChain and LangGraph: a local tool and MCP tools, then a streamed answer, a failure and
 * an embedding. The caller reports it: with a callback handler or with an instrumentation.
 */
import type { Callbacks } from '@langchain/core/callbacks/manager';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

/** @param callbacks what LangChain calls at each run; undefined where an instrumentation has patched it */
export async function runAgent(callbacks?: Callbacks): Promise<void> {
  const options = {
    ...(callbacks !== undefined && { callbacks }),
    metadata: { note: MARKERS.metadata },
    tags: [MARKERS.metadata],
  };
  const mcp = new MultiServerMCPClient({ mcpServers: { everything: { transport: 'stdio', ...mcpCommand } } });
  const fromServer = (await mcp.getTools()).filter(({ name }) => ['echo', 'get-sum'].includes(name));
  const getWeather = tool(
    () => {
      countTool('get_weather');
      return MARKERS.toolResult;
    },
    { name: 'get_weather', description: MARKERS.toolDescription, schema: z.object({ city: z.string() }) },
  );
  const client = { maxRetries: 0, configuration: { defaultHeaders: { 'x-request-note': MARKERS.header } } };
  const model = new ChatOpenAI({ ...client, model: 'gpt-5-mini' });
  const agent = createAgent({
    name: 'weather_agent',
    model,
    tools: [getWeather, ...fromServer],
    systemPrompt: MARKERS.instructions,
  });
  countAgent('weather_agent');
  const asked = { messages: [{ role: 'user', content: MARKERS.question }] };
  await agent.invoke(asked, { ...options, configurable: { thread_id: 'conversation-1' } });

  for await (const chunk of await model.stream(MARKERS.question, options)) void chunk;
  await model.invoke(MARKERS.fail, options).catch(() => undefined);
  await new OpenAIEmbeddings({ ...client, model: 'text-embedding-3-small' }).embedQuery(MARKERS.document);
  await mcp.close();
}
