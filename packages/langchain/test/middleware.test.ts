import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createGuard, type Guard, type ProviderOf } from '@quartermaster/gateway';
import { type FarSide, GATEWAY_ID, startFarSide } from '@quartermaster/gateway/testing/far-side.ts';
import { createAgent, tool } from 'langchain';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { modelNameOf } from '../src/model-name.ts';
import { quartermaster } from '../src/middleware.ts';

let farSide: FarSide;
let guard: Guard;
/** The tools that ran. */
let ran: string[];
/** The tools that the model saw, for each call of the model. */
let seen: string[][];

beforeEach(async () => {
  farSide = await startFarSide();
  farSide.grantTools('echo');
  farSide.state.granted.push({ provider: 'openai', kind: 'model', name: 'scripted-1' });
  guard = createGuard({ issuer: farSide.issuer, gatewayId: GATEWAY_ID });
  ran = [];
  seen = [];
});

afterEach(async () => {
  await farSide.stop();
});

/** A model that answers with the tool calls of its script, and then with a text. */
class Scripted extends BaseChatModel {
  readonly model: string;
  #script: string[][];

  constructor(script: string[][], model = 'scripted-1') {
    super({});
    this.#script = [...script];
    this.model = model;
  }

  override _llmType() {
    return 'scripted';
  }

  override bindTools(tools: { name?: string; type?: string }[]) {
    seen.push(tools.map(({ name, type }) => name ?? type ?? ''));
    return this;
  }

  override async _generate() {
    const names = this.#script.shift() ?? [];
    const calls = names.map((name, index) => ({
      name,
      args: {},
      id: `call_${name}_${index}`,
      type: 'tool_call' as const,
    }));
    const message = new AIMessage({ content: names.length === 0 ? 'done' : '', tool_calls: calls });
    return { generations: [{ text: '', message }] };
  }
}

const toolOf = (name: string) =>
  tool(
    () => {
      ran.push(name);
      return `${name} ran`;
    },
    { name, description: name, schema: { type: 'object', properties: {} } },
  );

const providerOf: ProviderOf = ({ kind, name }) => {
  if (kind === 'model') return 'openai';
  if (name.startsWith('local_')) return null;
  if (name.startsWith('stray_')) return undefined;
  return name.startsWith('files__') ? { provider: 'files', name: name.slice(7) } : 'files';
};

const question = { messages: [{ role: 'user', content: 'go' }] };

const answers = ({ messages }: { messages: BaseMessage[] }) =>
  messages
    .filter((message) => ToolMessage.isInstance(message))
    .map(({ name, status, text }) => ({ name, status, text }));

const tools = ['echo', 'secret', 'files__echo', 'local_time', 'stray_tool'].map(toolOf);

describe('deny', () => {
  it('hides tools that are not permitted, and does not run one that is called anyway', async () => {
    const session = await guard.session(farSide.newToken());
    const model = new Scripted([['echo', 'secret', 'files__echo', 'local_time', 'stray_tool']]);
    const agent = createAgent({ model, tools, middleware: [quartermaster({ session, providerOf })] });
    const results = answers(await agent.invoke(question));
    expect(seen[0]).toEqual(['echo', 'files__echo', 'local_time']);
    expect(ran.toSorted()).toEqual(['echo', 'files__echo', 'local_time']);
    const secret = results.find(({ name }) => name === 'secret');
    expect(secret).toMatchObject({ status: 'error', text: expect.stringContaining('Not permitted') });
    expect(secret?.text).toContain('/console/inbox?observation=obs_1');
    expect(results.find(({ name }) => name === 'stray_tool')).toMatchObject({ status: 'error' });
    expect(farSide.questions()).toEqual(['secret 1']);
  });

  it('answers an invented tool in the same way, and has it counted', async () => {
    const session = await guard.session(farSide.newToken());
    const agent = createAgent({
      model: new Scripted([['invented']]),
      tools,
      middleware: [quartermaster({ session, providerOf })],
    });
    expect(answers(await agent.invoke(question))).toMatchObject([{ name: 'invented', status: 'error' }]);
    expect(farSide.questions()).toEqual(['invented 1']);
  });

  it('hides a tool that the provider of the model would run', async () => {
    const session = await guard.session(farSide.newToken());
    const agent = createAgent({
      model: new Scripted([]),
      tools: [toolOf('echo'), { type: 'web_search' }],
      middleware: [quartermaster({ session, providerOf, onUnknown: 'interrupt' })],
    });
    await agent.invoke(question);
    expect(seen[0]).toEqual(['echo']);
  });

  it('does not call a model that is not permitted, and covers snapshots of one that is', async () => {
    const session = await guard.session(farSide.newToken());
    const invoke = (model: string) => {
      const middleware = [quartermaster({ session, providerOf })];
      return createAgent({ model: new Scripted([], model), tools, middleware }).invoke(question);
    };
    await expect(invoke('other-1')).rejects.toThrow('may not use the model "other-1" of "openai"');
    await expect(invoke('')).rejects.toThrow('the name of the model "" is not known');
    await invoke('scripted-1-2026-01-01');
    expect(farSide.questions()).toEqual(['other-1 1', 'scripted-1-2026-01-01 1']);
  });

  it('permits everything in the mode observe, and has it counted', async () => {
    farSide.state.mode = 'observe';
    const session = await guard.session(farSide.newToken());
    const agent = createAgent({
      model: new Scripted([['secret']], 'other-1'),
      tools,
      middleware: [quartermaster({ session, providerOf })],
    });
    await agent.invoke(question);
    expect(seen[0]).toContain('secret');
    expect(ran).toEqual(['secret']);
    expect(farSide.questions()).toEqual(['other-1 1', 'secret 1']);
  });

  it('takes the token of each run with a guard', async () => {
    const agent = createAgent({
      model: new Scripted([['echo']]),
      tools,
      middleware: [quartermaster({ guard, providerOf })],
    });
    await agent.invoke(question, { configurable: { quartermasterToken: farSide.newToken() } });
    expect(ran).toEqual(['echo']);
    await agent.invoke(question, { context: { quartermasterToken: farSide.newToken({ sub: 'user:ada' }) } });
    expect(farSide.requests('/session')).toBe(2);
    await expect(agent.invoke(question)).rejects.toThrow('no session token');
  });

  it('stops the run when the session has ended', async () => {
    const session = await guard.session(farSide.newToken());
    farSide.endSession(session.id, 'revoked');
    const agent = createAgent({
      model: new Scripted([['secret']]),
      tools,
      middleware: [quartermaster({ session, providerOf })],
    });
    await expect(agent.invoke(question)).rejects.toThrow('The session has ended');
    expect(ran).toEqual([]);
  });

  it('tells the model when nobody can decide', async () => {
    const session = await guard.session(farSide.newToken());
    farSide.state.outage = { status: 503 };
    const agent = createAgent({
      model: new Scripted([['secret']]),
      tools,
      middleware: [quartermaster({ session, providerOf })],
    });
    expect(answers(await agent.invoke(question))).toMatchObject([
      { status: 'error', text: expect.stringContaining('nobody could check') },
    ]);
    expect(ran).toEqual([]);
  });
});

describe('interrupt', () => {
  async function paused() {
    const session = await guard.session(farSide.newToken());
    const agent = createAgent({
      model: new Scripted([['echo', 'secret']]),
      tools,
      middleware: [quartermaster({ session, providerOf, onUnknown: 'interrupt' })],
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id: 'thread' } };
    const result = await agent.invoke(question, config);
    return { resume: () => agent.invoke(new Command({ resume: { approved: true } }), config), result };
  }

  it('pauses the run, and runs the tool once after it was approved, and no other tool again', async () => {
    const { resume, result } = await paused();
    expect(seen[0]).toContain('secret');
    expect(result).toMatchObject({
      __interrupt__: [{ value: { type: 'quartermaster.review', tool: 'secret', observationId: 'obs_1' } }],
    });
    expect(ran).toEqual(['echo']);
    farSide.grantTools('secret');
    const results = answers(await resume());
    expect(ran).toEqual(['echo', 'secret']);
    expect(results.map(({ status }) => status)).not.toContain('error');
  });

  it('never trusts the value that resumes the run', async () => {
    const { resume } = await paused();
    const results = answers(await resume());
    expect(ran).toEqual(['echo']);
    expect(results.find(({ name }) => name === 'secret')).toMatchObject({ status: 'error' });
  });
});

describe('modelNameOf', () => {
  it('reads the model that a run has chosen, through bindings', async () => {
    const choosing = {
      _getModelInstance: async ({ configurable }: { configurable: { model: string } }) =>
        new Scripted([], configurable.model),
    };
    const bound = { bound: choosing };
    expect(await modelNameOf(bound, { model: 'chosen-1' })).toMatchObject({ name: 'chosen-1' });
    expect(await modelNameOf({ getLsParams: () => ({ ls_provider: 'openai', ls_model_name: 'gpt-5' }) })).toEqual({
      name: 'gpt-5',
      vendor: 'openai',
    });
    expect(await modelNameOf(null)).toEqual({ name: '' });
  });
});
