import { createGuard, type GuardedSession, type ProviderOf } from '@quartermaster/gateway';
import { type FarSide, GATEWAY_ID, startFarSide } from '@quartermaster/gateway/testing/far-side.ts';
import {
  generateText,
  jsonSchema,
  type ModelMessage,
  stepCountIs,
  type Tool,
  type ToolExecuteFunction,
  tool,
} from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GuardToolsOptions, guardTools } from '../src/guard-tools.ts';

let farSide: FarSide;
let session: GuardedSession;
/** The tools that ran. */
let ran: string[];
/** The tools that the model saw, for each call of the model. */
let seen: string[][];
/** The messages that the model read last. */
let read: string;

beforeEach(async () => {
  farSide = await startFarSide();
  farSide.grantTools('echo');
  farSide.state.granted.push({ provider: 'openai', kind: 'model', name: 'scripted-1' });
  session = await createGuard({ issuer: farSide.issuer, gatewayId: GATEWAY_ID }).session(farSide.newToken());
  ran = [];
  seen = [];
});

afterEach(async () => {
  await farSide.stop();
});

const providerOf: ProviderOf = ({ kind, name }) => {
  if (kind === 'model') return 'openai';
  return name.startsWith('local_') ? null : 'files';
};

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that calls the tools of the script in its first step, and then answers with a text. */
function scripted(names: string[], modelId = 'scripted-1') {
  let step = 0;
  return new MockLanguageModelV4({
    provider: 'openai.responses',
    modelId,
    doGenerate: async ({ prompt, tools = [] }) => {
      read = JSON.stringify(prompt);
      seen.push(tools.map((offered) => offered.name));
      step += 1;
      const calls = names.map((toolName, index) => ({
        type: 'tool-call' as const,
        toolCallId: `call_${index}`,
        toolName,
        input: '{}',
      }));
      return step === 1 && calls.length > 0
        ? { finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [], content: calls }
        : {
            finishReason: { unified: 'stop', raw: 'stop' },
            usage,
            warnings: [],
            content: [{ type: 'text' as const, text: 'done' }],
          };
    },
  });
}

const inputSchema = jsonSchema<object>({ type: 'object', properties: {} });

function toolOf(name: string, settings: { needsApproval?: boolean } = {}): Tool<object, string> {
  const execute: ToolExecuteFunction<object, string, Record<string, unknown>> = async () => {
    ran.push(name);
    return `${name} ran`;
  };
  return tool({ description: name, inputSchema, execute, ...settings });
}

const tools = () => ({ echo: toolOf('echo'), secret: toolOf('secret'), local_time: toolOf('local_time') });

function run(names: string[], { modelId, ...options }: Partial<GuardToolsOptions> & { modelId?: string } = {}) {
  return generateText({
    model: scripted(names, modelId),
    prompt: 'go',
    stopWhen: stepCountIs(3),
    ...guardTools(tools(), { session, providerOf, ...options }),
  });
}

describe('deny', () => {
  it('hides tools that are not permitted, and has a call of a hidden one counted', async () => {
    const { steps } = await run(['echo', 'secret', 'local_time']);
    expect(seen[0]).toEqual(['echo', 'local_time']);
    expect(ran.toSorted()).toEqual(['echo', 'local_time']);
    expect(farSide.questions()).toEqual(['secret 1']);
    const error = steps[0]?.content.find((part) => part.type === 'tool-error');
    expect(error).toMatchObject({ toolName: 'secret' });
  });

  it('has an invented tool counted', async () => {
    await run(['invented']);
    expect(farSide.questions()).toEqual(['invented 1']);
  });

  it('decides again when a tool runs: the wrapped tool refuses, with a text for the model', async () => {
    const { tools: guarded } = guardTools(tools(), { session, providerOf });
    await generateText({
      model: scripted(['echo', 'secret']),
      prompt: 'go',
      stopWhen: stepCountIs(3),
      tools: guarded,
    });
    expect(ran).toEqual(['echo']);
    expect(read).toContain('Not permitted');
    expect(farSide.questions()).toEqual(['secret 1']);
  });

  it('does not call a model that is not permitted', async () => {
    await expect(run([], { modelId: 'other-1' })).rejects.toThrow('may not use the model "other-1" of "openai"');
    expect(seen).toEqual([]);
  });

  it('permits everything in the mode observe, and has it counted', async () => {
    farSide.state.mode = 'observe';
    session = await createGuard({ issuer: farSide.issuer, gatewayId: GATEWAY_ID }).session(farSide.newToken());
    await run(['secret']);
    expect(ran).toEqual(['secret']);
    expect(farSide.questions()).toEqual(['secret 1']);
  });

  it('stops when the session has ended', async () => {
    session = await createGuard({ issuer: farSide.issuer, gatewayId: GATEWAY_ID, freshSeconds: 0 }).session(
      farSide.newToken(),
    );
    farSide.endSession(session.id, 'revoked');
    await expect(run(['echo'])).rejects.toThrow('The session has ended');
    expect(ran).toEqual([]);
  });

  it('keeps the outputs of a generator, with the last one as the result', async () => {
    farSide.grantTools('stream');
    session = await createGuard({ issuer: farSide.issuer, gatewayId: GATEWAY_ID }).session(farSide.newToken());
    async function* outputs() {
      yield 'first';
      yield 'last';
    }
    for (const execute of [outputs, () => outputs()]) {
      const stream = tool({
        description: 'stream',
        inputSchema,
        execute: execute as ToolExecuteFunction<object, string, Record<string, unknown>>,
      });
      const guarded = guardTools({ stream }, { session, providerOf });
      const { steps } = await generateText({
        model: scripted(['stream']),
        prompt: 'go',
        stopWhen: stepCountIs(3),
        ...guarded,
      });
      expect(steps[0]?.toolResults).toMatchObject([{ output: 'last' }]);
    }
  });
});

describe('ask', () => {
  const options = (extra: object = {}) => ({
    stopWhen: stepCountIs(3),
    ...guardTools({ ...tools(), ...extra }, { session, providerOf, onUnknown: 'ask' }),
  });

  it('asks the user about a tool that is not permitted, and decides again before it runs', async () => {
    const first = await generateText({ model: scripted(['echo', 'secret']), prompt: 'go', ...options() });
    expect(seen[0]).toContain('secret');
    expect(ran).toEqual(['echo']);
    const request = first.content.find((part) => part.type === 'tool-approval-request');
    expect(request).toMatchObject({
      toolCall: { toolName: 'secret' },
      reason: expect.stringContaining('Not permitted'),
    });

    const approvalId = request?.type === 'tool-approval-request' ? request.approvalId : '';
    const approved: ModelMessage[] = [
      { role: 'user', content: 'go' },
      ...first.response.messages,
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId, approved: true }] },
    ];
    await generateText({ model: scripted([]), messages: approved, ...options() });
    expect(ran).toEqual(['echo']);
    expect(read).toContain('Not permitted');

    farSide.grantTools('secret');
    session = await createGuard({ issuer: farSide.issuer, gatewayId: GATEWAY_ID }).session(farSide.newToken());
    await generateText({ model: scripted([]), messages: approved, ...options() });
    expect(ran).toEqual(['echo', 'secret']);
  });

  it('hides a tool that the provider of the model would run', async () => {
    const search: Tool = { type: 'provider', id: 'openai.web_search', args: {}, isProviderExecuted: true, inputSchema };
    await generateText({ model: scripted([]), prompt: 'go', ...options({ search }) });
    expect(seen[0]).toEqual(['echo', 'secret', 'local_time']);
  });

  it('still asks about a tool that needs approval itself', async () => {
    const echo = toolOf('echo', { needsApproval: true });
    const { content } = await generateText({ model: scripted(['echo']), prompt: 'go', ...options({ echo }) });
    expect(content.map(({ type }) => type)).toContain('tool-approval-request');
    expect(ran).toEqual([]);
  });
});
