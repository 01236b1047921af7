import { crc32 } from 'node:zlib';
import { anthropicMessages } from './anthropic-messages.ts';
import type { Answer, ModelRequest, Route } from './route.ts';
import { ANSWER, ERROR_TEXT, mustFail, planCalls, TOKENS } from './scenario.ts';

type Block = {
  text?: string;
  toolUse?: { toolUseId: string; name: string; input: unknown };
  toolResult?: { toolUseId: string; status?: string };
};

type ConverseRequest = {
  messages: { role: string; content: Block[] }[];
  toolConfig?: { tools: { toolSpec?: { name: string } }[] };
};

const VENDOR = 'aws.bedrock';

const USAGE = {
  inputTokens: TOKENS.input - TOKENS.cachedInput,
  cacheReadInputTokens: TOKENS.cachedInput,
  outputTokens: TOKENS.output,
  totalTokens: TOKENS.input + TOKENS.output,
};

/** Amazon Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference. `invoke` serves Anthropic's messages. */
export function bedrock(): Route[] {
  const messages = anthropicMessages();
  return [
    { path: /^\/model\/[^/]+\/converse(-stream)?$/, vendor: VENDOR, answer: converse },
    {
      path: /^\/model\/[^/]+\/invoke(-with-response-stream)?$/,
      vendor: VENDOR,
      answer(request) {
        if (mustFail(request.body)) return failure(request);
        const model = modelOf(request);
        const stream = request.path.endsWith('-stream');
        const answer = messages.answer({ ...request, body: { ...request.body, model: nameOfMaker(model), stream } });
        if (!('events' in answer.response)) return { ...answer, model };
        const chunks = answer.response.events.map((event) => {
          const data = event.slice(event.indexOf('data: ') + 'data: '.length).trim();
          return streamMessage('chunk', { bytes: Buffer.from(data).toString('base64') });
        });
        return { ...answer, model, response: { eventStream: chunks } };
      },
    },
  ];
}

function converse(request: ModelRequest): Answer {
  if (mustFail(request.body)) return failure(request);
  const { messages, toolConfig } = request.body as ConverseRequest;
  const blocks = messages.flatMap(({ content }) => content);
  const called = blocks.flatMap(({ toolUse }) => (toolUse === undefined ? [] : [toolUse.name]));
  const offered = (toolConfig?.tools ?? []).flatMap(({ toolSpec }) => (toolSpec === undefined ? [] : [toolSpec.name]));
  const calls = planCalls({ offered, called }).map((call): Block => {
    return { toolUse: { toolUseId: `tooluse_${crypto.randomUUID()}`, name: call.name, input: call.arguments } };
  });
  const content = calls.length > 0 ? calls : [{ text: ANSWER }];
  const stopReason = calls.length > 0 ? 'tool_use' : 'end_turn';
  const counts = { model: modelOf(request), inputTokens: TOKENS.input, outputTokens: TOKENS.output };
  if (request.path.endsWith('-stream'))
    return { ...counts, response: { eventStream: converseStream(content, stopReason) } };
  const json = {
    output: { message: { role: 'assistant', content } },
    stopReason,
    usage: USAGE,
    metrics: { latencyMs: 1 },
  };
  return { ...counts, response: { status: 200, json } };
}

function converseStream(content: Block[], stopReason: string): Buffer[] {
  return [
    streamMessage('messageStart', { role: 'assistant' }),
    ...content.flatMap(({ text, toolUse }, contentBlockIndex) => {
      const { input, ...start } = toolUse ?? {};
      const delta = toolUse ? { toolUse: { input: JSON.stringify(input) } } : { text };
      return [
        ...(toolUse ? [streamMessage('contentBlockStart', { contentBlockIndex, start: { toolUse: start } })] : []),
        streamMessage('contentBlockDelta', { contentBlockIndex, delta }),
        streamMessage('contentBlockStop', { contentBlockIndex }),
      ];
    }),
    streamMessage('messageStop', { stopReason }),
    streamMessage('metadata', { usage: USAGE, metrics: { latencyMs: 1 } }),
  ];
}

function modelOf({ path }: ModelRequest): string {
  return decodeURIComponent(path.split('/')[2] ?? '');
}

/** The name that the maker gives to the model of a Bedrock id: `claude-sonnet-5-20260101`. */
function nameOfMaker(id: string): string {
  return id.replace(/^.*\.|-v\d+:\d+$/g, '');
}

function failure(request: ModelRequest): Answer {
  return {
    model: modelOf(request),
    response: { status: 400, json: { __type: 'ValidationException', message: ERROR_TEXT } },
  };
}

/** One message of an AWS event stream: lengths, headers of type 7 (text), the body, and two checksums. */
function streamMessage(event: string, body: object): Buffer {
  const headers = { ':event-type': event, ':content-type': 'application/json', ':message-type': 'event' };
  const packed = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const length = Buffer.from([7, 0, value.length]);
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), length, Buffer.from(value)]);
    }),
  );
  const payload = Buffer.from(JSON.stringify(body));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(packed.length + payload.length + 16, 0);
  prelude.writeUInt32BE(packed.length, 4);
  const message = Buffer.concat([prelude, checksumOf(prelude), packed, payload]);
  return Buffer.concat([message, checksumOf(message)]);
}

function checksumOf(bytes: Buffer): Buffer {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(bytes));
  return checksum;
}
