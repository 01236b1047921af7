/**
 * LangSmith's OpenTelemetry mode around a graph of LangGraph. In JavaScript only what `traceable` and the wrapped clients
 * run has spans; a run of LangChain inside of them would write into their span. So the node of the graph calls such functions.
 */
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { initializeOTEL } from 'langsmith/experimental/otel/setup';
import { traceable } from 'langsmith/traceable';
import { wrapOpenAI } from 'langsmith/wrappers/openai';
import OpenAI from 'openai7';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent } from '../../recorder/program.ts';
import { CLIENT_OPTIONS, type RunTool, runAgent, runOtherCalls } from './agent.ts';

const { DEFAULT_LANGSMITH_SPAN_PROCESSOR: processor } = initializeOTEL();
const client = wrapOpenAI(new OpenAI(CLIENT_OPTIONS));
const runTool: RunTool = (name, run) =>
  traceable((_given: string) => run(), { name, run_type: 'tool' })(MARKERS.toolArgument);
const weatherAgent = traceable((_question: string) => runAgent(client, runTool), {
  name: 'weather_agent',
  run_type: 'chain',
  metadata: { note: MARKERS.metadata, ls_agent_type: 'root', lc_agent_name: 'weather_agent' },
  tags: [MARKERS.metadata],
});

const graph = new StateGraph(Annotation.Root({ question: Annotation<string> }))
  .addNode('answer', async ({ question }) => {
    countAgent('weather_agent');
    await weatherAgent(question);
    return {};
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();
await graph.invoke({ question: MARKERS.question });
await runOtherCalls(client);
await processor.shutdown();
