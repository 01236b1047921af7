import { type FarSide, GATEWAY_ID, startFarSide } from '@quartermaster/gateway/testing/far-side.ts';
import { checkPackage, compileReadme, packedProject, type Project } from '@quartermaster/gateway/testing/packed.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';

let project: Project;
let farSide: FarSide;

beforeAll(async () => {
  project = await packedProject(['gateway', 'ai-sdk'], ['ai', '@types/node']);
  farSide = await startFarSide();
  farSide.grantTools('echo');
});

afterAll(async () => {
  await farSide.stop();
  await project.remove();
});

it('the package works for everybody who installs it', async () => {
  await checkPackage(project, 'ai-sdk');
});

it('the example of its README compiles', async () => {
  await compileReadme(project, 'ai-sdk', ['--types', 'node', '--skipLibCheck']);
});

const PROGRAM = `
import { guardTools } from '@quartermaster/ai-sdk';
import { createGuard } from '@quartermaster/gateway';
import { generateText, jsonSchema, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const [, , issuer, gatewayId, token] = process.argv;
const session = await createGuard({ issuer, gatewayId }).session(token);
const providerOf = ({ kind }) => (kind === 'model' ? null : 'files');
const usage = { inputTokens: {}, outputTokens: {} };
const model = new MockLanguageModelV4({
  doGenerate: async ({ tools }) => {
    console.log('the model sees', tools.map(({ name }) => name).join());
    const content = ['echo', 'secret'].map((toolName) => ({ type: 'tool-call', toolCallId: toolName, toolName, input: '{}' }));
    return { finishReason: { unified: 'tool-calls' }, usage, warnings: [], content };
  },
});
const toolOf = (name) => tool({ inputSchema: jsonSchema({ type: 'object' }), execute: () => console.log(name, 'ran') });
const tools = { echo: toolOf('echo'), secret: toolOf('secret') };
await generateText({ model, prompt: 'go', ...guardTools(tools, { session, providerOf }) });
`;

it('the packed guard decides in an empty project', async () => {
  await project.write('program.js', PROGRAM);
  const output = await project.run(process.execPath, ['program.js', farSide.issuer, GATEWAY_ID, farSide.newToken()]);
  expect(output.trim().split('\n')).toEqual(['the model sees echo', 'echo ran']);
  expect(farSide.questions()).toEqual(['secret 1']);
});
