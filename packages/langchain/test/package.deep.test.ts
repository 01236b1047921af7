import { type FarSide, GATEWAY_ID, startFarSide } from '@quartermaster/gateway/testing/far-side.ts';
import { checkPackage, compileReadme, packedProject, type Project } from '@quartermaster/gateway/testing/packed.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';

let project: Project;
let farSide: FarSide;

beforeAll(async () => {
  project = await packedProject(['gateway', 'langchain'], ['langchain', '@langchain/core', '@types/node']);
  farSide = await startFarSide();
  farSide.grantTools('echo');
});

afterAll(async () => {
  await farSide.stop();
  await project.remove();
});

it('the package works for everybody who installs it', async () => {
  await checkPackage(project, 'langchain');
});

it('the example of its README compiles', async () => {
  await compileReadme(project, 'langchain', ['--types', 'node', '--skipLibCheck']);
});

const PROGRAM = `
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { createGuard } from '@quartermaster/gateway';
import { quartermaster } from '@quartermaster/langchain';
import { createAgent } from 'langchain';

const [, , issuer, gatewayId, token] = process.argv;
const session = await createGuard({ issuer, gatewayId }).session(token);
const providerOf = ({ kind }) => (kind === 'model' ? undefined : 'files');
const model = new FakeListChatModel({ responses: ['done'] });
const agent = createAgent({ model, tools: [], middleware: [quartermaster({ session, providerOf })] });
console.log(await agent.invoke({ messages: 'go' }).catch(({ message }) => message));
`;

it('the packed guard decides in an empty project', async () => {
  await project.write('program.js', PROGRAM);
  const output = await project.run(process.execPath, ['program.js', farSide.issuer, GATEWAY_ID, farSide.newToken()]);
  expect(output).toContain('Not permitted: the provider of the model');
});
