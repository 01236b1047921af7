import { afterEach, expect, test, vi } from 'vitest';
import { BASE_PATH } from '../src/data/base-path.ts';

afterEach(() => void vi.unstubAllGlobals());

const SESSION = `${BASE_PATH}/console/session`;
const ME = `${BASE_PATH}/v1/me`;
const ROWS = `${BASE_PATH}/v1/runtime-observations?view=new&limit=100`;

type Script = { takeAnswer: (url: string, user: string | null) => Promise<Response> | undefined };

/** Runs the early script on a page of the inbox. `answer` gives the answer to what it asks next. */
async function startScript() {
  const asked: string[] = [];
  const waiting: ((body: object) => void)[] = [];
  const location = { pathname: `${BASE_PATH}/console/inbox`, search: '', origin: 'http://localhost' };
  vi.stubGlobal('window', { location });
  // The page has just begun to load.
  vi.stubGlobal('performance', { now: () => 0 });
  vi.stubGlobal('fetch', (url: string) => {
    asked.push(url);
    return new Promise<Response>((resolve) => waiting.push((body) => resolve(Response.json(body))));
  });
  // A new module for each test. Its types need those of a browser.
  const { takeAnswer }: Script = await import(`../src/early.ts?${Math.random()}`);
  const answer = async (body: object) => {
    waiting.shift()?.(body);
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  return { asked, answer, takeAnswer };
}

const me = (id: string) => ({
  id,
  termsAccepted: true,
  platformAdministrator: true,
  platformScopes: ['*'],
  places: [],
  memberships: [],
});

test('what was asked early is given once, and only for the user that was asked for', async () => {
  const { asked, answer, takeAnswer } = await startScript();
  await answer({ signedIn: true });
  await answer(me('usr_b'));
  await answer({ items: [] });
  expect(asked).toEqual([SESSION, ME, ROWS]);
  expect(await (await takeAnswer(ME, null))?.json()).toMatchObject({ id: 'usr_b' });
  expect(takeAnswer(ME, null)).toBeUndefined();
  expect(takeAnswer(ROWS, 'usr_a')).toBeUndefined();
  expect(takeAnswer(ROWS, 'usr_b')).toBeUndefined();
});

test('rows are given to the page of the user that was asked for', async () => {
  const { answer, takeAnswer } = await startScript();
  await answer({ signedIn: true });
  await answer(me('usr_b'));
  await answer({ items: [1] });
  expect(await (await takeAnswer(ROWS, 'usr_b'))?.json()).toEqual({ items: [1] });
});

test('what the page has asked itself is not asked early any more, and neither is what follows it', async () => {
  const { asked, answer, takeAnswer } = await startScript();
  expect(takeAnswer(ME, null)).toBeUndefined();
  await answer({ signedIn: true });
  expect(asked).toEqual([SESSION]);
});

test('nothing is asked for a person who is not signed in', async () => {
  const { asked, answer } = await startScript();
  await answer({ signedIn: false });
  expect(asked).toEqual([SESSION]);
});
