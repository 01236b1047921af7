import { expect } from 'vitest';
import { unchanged } from './support/records.ts';
import type { TestServer } from './support/server.ts';

/**
 * Copies of a cursor with a character changed, dropped or doubled, with one bit flipped, or cut to a length.
 *
 * @param every edits each nth character and each nth bit
 */
function editsOf(text: string, every: number): string[] {
  const isChosen = (_: unknown, at: number) => at % every === 0;
  const places = Array.from(text, (_, at) => at).filter(isChosen);
  const changed = places.flatMap((at) => {
    const [head, character, tail] = [text.slice(0, at), text.charAt(at), text.slice(at + 1)];
    const other = character === 'A' ? 'B' : 'A';
    const turned = /[a-z]/.test(character) ? character.toUpperCase() : character.toLowerCase();
    return [head + other + tail, head + turned + tail, head + tail, head + character + character + tail, head];
  });
  const bytes = Buffer.from(text, 'base64url');
  const bits = Array.from({ length: bytes.length * 8 }, (_, bit) => bit).filter(isChosen);
  const flipped = bits.map((bit) => {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    return copy.toString('base64url');
  });
  const around = [
    `${text}=`,
    ` ${text}`,
    `${text}\n`,
    `${text}${text}`,
    `"${text}"`,
    `${text}%`,
    text.split('').toReversed().join(''),
  ];
  return [...new Set([...changed, ...flipped, ...around])].filter((edited) => edited !== text);
}

/**
 * Expects 422 for edits of a cursor of the list of providers, and 200 for the cursor itself.
 *
 * @returns the number of edits
 */
export async function refuseEdits(
  server: TestServer,
  { cursor, every }: { cursor: string; every: number },
): Promise<number> {
  const edits = editsOf(cursor, every);
  const list = (text: string) =>
    server.call('GET', `/v1/providers?limit=1&cursor=${encodeURIComponent(text)}`, { as: server.admin });
  await unchanged(server, async () => {
    for (const text of edits) {
      const { status, body } = await list(text);
      expect(status, text).toBe(422);
      expect(body.detail).toMatchObject([{ type: 'value_error', loc: ['query', 'cursor'] }]);
    }
  });
  expect((await list(cursor)).status).toBe(200);
  return edits.length;
}
