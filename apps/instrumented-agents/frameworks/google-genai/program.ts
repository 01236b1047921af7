/**
 * Google's GenAI client under OpenLLMetry: a local tool and MCP tools, a search, a streamed answer, a chat, a failure and an
 * embedding.
 */
import * as genai from '@google/genai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { GenAIInstrumentation } from '@traceloop/instrumentation-google-generativeai';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const patched = { ...genai };
new GenAIInstrumentation().manuallyInstrument(patched as never);

const model = 'gemini-3-flash';
const client = new patched.GoogleGenAI({
  apiKey: 'scripted',
  httpOptions: { baseUrl: modelServerUrl, headers: { 'x-request-note': MARKERS.header } },
});
const systemInstruction = MARKERS.instructions;

const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));
const fromServer = (await mcp.listTools()).tools.filter(({ name }) => ['echo', 'get-sum'].includes(name));
const functionDeclarations: genai.FunctionDeclaration[] = [
  { name: 'get_weather', description: MARKERS.toolDescription, parametersJsonSchema: { type: 'object' } },
  ...fromServer.map(({ name, inputSchema }) => ({ name, parametersJsonSchema: inputSchema })),
];
const contents: genai.Content[] = [{ role: 'user', parts: [{ text: MARKERS.question }] }];
for (;;) {
  const answer = await client.models.generateContent({
    model,
    contents,
    config: { systemInstruction, tools: [{ functionDeclarations }] },
  });
  const { functionCalls = [], candidates } = answer;
  if (functionCalls.length === 0) break;
  contents.push(candidates?.[0]?.content ?? {});
  for (const { name = '', args = {} } of functionCalls) {
    if (name === 'get_weather') countTool('get_weather');
    const result = name === 'get_weather' ? MARKERS.toolResult : await mcp.callTool({ name, arguments: args });
    contents.push({ role: 'user', parts: [{ functionResponse: { name, response: { result } } }] });
  }
}
await mcp.close();
const config = { systemInstruction, tools: [{ googleSearch: {} }] };
await client.models.generateContent({ model, contents: MARKERS.question, config });
for await (const chunk of await client.models.generateContentStream({ model, contents: MARKERS.question })) void chunk;
const chat = client.chats.create({ model });
await chat.sendMessage({ message: MARKERS.question });
await client.models.generateContent({ model, contents: MARKERS.fail }).catch(() => undefined);
await client.models.embedContent({ model: 'gemini-embedding-2', contents: MARKERS.document });
await telemetry.shutdown();
