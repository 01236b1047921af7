import { expect, test } from 'vitest';
import { followed } from '../src/power-loss.ts';

// The calls of one write as strace shows them: a frame's head that commits or does not, its page, a sync, the answer.

const WAL = `12<${hex('/tmp/torture.db-wal')}>`;
const SOCKET = `20<${hex('socket:[7]')}>`;
const head = (commits: boolean) => {
  const bytes = Buffer.alloc(24);
  bytes.writeUInt32BE(commits ? 5 : 0, 4);
  return `1 pwrite64(${WAL}, "${hex(bytes)}", 24, 0) = 24`;
};
const page = `1 pwrite64(${WAL}, "${hex('a page with power-000001 in it')}", 4096, 24) = 4096`;
const sync = `1 fdatasync(${WAL}) = 0`;
const answer = `1 write(${SOCKET}, "${hex('HTTP/1.1 200 OK {"id":"power-000001"}')}", 60) = 60`;
const early = ['power-000001 was answered before it was synced'];

test.each([
  ['an answer after the sync of its commit', [head(true), page, sync, answer], []],
  ['an answer before it', [head(true), page, answer, sync], early],
  ['an answer without one', [head(true), page, answer], early],
  ['a sync before the commit alone', [head(false), page, sync, answer], early],
  ['a sync before the frame alone', [sync, head(true), page, answer], early],
  ['a sync that is still under way', [head(true), page, `1 fdatasync(${WAL} <unfinished ...>`, answer], early],
  [
    'an answer after a sync that took a while',
    [head(true), page, `1 fdatasync(${WAL} <unfinished ...>`, '1 <... fdatasync resumed>) = 0', answer],
    [],
  ],
  ['a sync of another file', [head(true), page, `1 fdatasync(13<${hex('/tmp/torture.db')}>) = 0`, answer], early],
])('%s', (_, calls, faults) => {
  const seen = followed(calls.join('\n'));
  expect(seen.answers).toBe(1);
  expect(seen.faults).toEqual(faults);
});

function hex(text: string | Buffer): string {
  return [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}
