import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_KEY, type FarSide, GATEWAY_ID, startFarSide, SUBJECT } from '../testing/far-side.ts';
import { checkPackage, compileReadme, packedProject, type Project } from '../testing/packed.ts';
import { type Runtime, runIn } from '../testing/runtimes.ts';

let project: Project;
let farSide: FarSide;

beforeAll(async () => {
  project = await packedProject(['gateway']);
  farSide = await startFarSide();
  farSide.grantTools('echo');
});

afterAll(async () => {
  await farSide.stop();
  await project.remove();
});

it('the package works for everybody who installs it', async () => {
  await checkPackage(project, 'gateway');
});

it('the examples of its README compile, without the types of Node', async () => {
  await compileReadme(project, 'gateway');
});

const PROGRAM = `
import { createGuard } from '@quartermaster/gateway';

const tool = (name) => ({ provider: 'files', kind: 'tool', name });

export async function check({ issuer, gatewayId, token, apiKey }) {
  const guard = createGuard({ issuer, gatewayId });
  const session = await guard.session(token);
  const forged = token.replace(/[^.]+$/, 'A'.repeat(86));
  return {
    listed: session.allows(tool('echo')),
    shown: session.filter(['echo', 'secret'], tool),
    denied: await session.decide(tool('secret')).then(({ allowed, reason }) => [allowed, reason]),
    forged: await guard.session(forged).catch(({ code, reason }) => [code, reason]),
    opened: (await guard.open({ apiKey })).subject,
    refused: await guard.open({ apiKey: 'wrong' }).catch(({ code }) => code),
    away: await createGuard({ issuer: 'http://127.0.0.1:1', gatewayId }).session(token).catch(({ code }) => code),
  };
}
`;

it.for<Runtime>(['node', 'bun', 'deno', 'workerd'])('the packed guard decides in %s', async (runtime, { skip }) => {
  await project.write('program.js', PROGRAM);
  const input = { issuer: farSide.issuer, gatewayId: GATEWAY_ID, token: farSide.newToken(), apiKey: API_KEY };
  const result = await runIn(runtime, project, input);
  if (result === null) skip('npm cannot install it here');
  expect(result).toEqual({
    listed: true,
    shown: ['echo'],
    denied: [false, 'not_in_inventory'],
    forged: ['token_invalid', 'signature'],
    opened: SUBJECT,
    refused: 'open_refused',
    away: 'unavailable',
  });
});
