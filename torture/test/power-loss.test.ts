import { expect, test } from 'vitest';
import { PostgresLog, SqliteLog } from '../src/power-loss/logs.ts';
import { followed } from '../src/power-loss/power-loss.ts';

// The system calls of one write, in the format of strace. SQLite: a frame header (with or without a commit), its page, a sync, the answer.

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
  ['an answer before the sync of its commit', [head(true), page, answer, sync], early],
  ['an answer without a sync', [head(true), page, answer], early],
  ['only a sync before the commit', [head(false), page, sync, answer], early],
  ['only a sync before the frame', [sync, head(true), page, answer], early],
  ['a sync that is not finished', [head(true), page, `1 fdatasync(${WAL} <unfinished ...>`, answer], early],
  [
    'an answer after a long sync',
    [head(true), page, `1 fdatasync(${WAL} <unfinished ...>`, '1 <... fdatasync resumed>) = 0', answer],
    [],
  ],
  ['a sync of another file', [head(true), page, `1 fdatasync(13<${hex('/tmp/torture.db')}>) = 0`, answer], early],
])('SQLite: %s', (_, calls, faults) => {
  const seen = followed(calls.join('\n'), new SqliteLog());
  expect(seen.answers).toBe(1);
  expect(seen.faults).toEqual(faults);
});

// PostgreSQL: process 2 is the backend that commits, 3 another process that syncs, 1 the service.

const LOG_FILE = `7<${hex('/data/pg_wal/000000010000000000000001')}>`;
const CLIENT = `9<${hex('socket:[8]')}>`;
const told = (text: string) => `2 recvfrom(${CLIENT}, "${hex(text)}", 8192, 0, NULL, NULL) = ${text.length}`;
const begin = told('Q\0\0\0\x30begin isolation level serializable\0');
const insert = told('B\0 power-000001');
const commit = told('Q\0\0\0\x0bcommit\0');
const flush = `2 fdatasync(${LOG_FILE}) = 0`;
const committed = `2 sendto(${CLIENT}, "${hex('C\0\0\0\x0bCOMMIT\0')}", 12, 0, NULL, 0) = 12`;

test.each([
  ['an answer after the sync of its commit', [begin, insert, commit, flush, committed, answer], []],
  [
    'an answer after the sync of another process',
    [begin, insert, commit, flush.replace('2', '3'), committed, answer],
    [],
  ],
  [
    'a commit that arrived during a system call',
    [
      begin,
      insert,
      `2 recvfrom(${CLIENT},  <unfinished ...>`,
      `2 <... recvfrom resumed>"${hex('commit\0')}", 8192, 0, NULL, NULL) = 7`,
      flush,
      committed,
      answer,
    ],
    [],
  ],
  ['an answer without a sync', [begin, insert, commit, committed, answer], early],
  ['an answer before the commit', [begin, insert, answer, commit, flush, committed], early],
  ['a sync before the commit was requested', [begin, insert, flush, commit, committed, answer], early],
  [
    'a sync that began before the commit was requested',
    [
      begin,
      insert,
      `3 fdatasync(${LOG_FILE} <unfinished ...>`,
      commit,
      '3 <... fdatasync resumed>) = 0',
      committed,
      answer,
    ],
    early,
  ],
  [
    'a sync that is not finished',
    [begin, insert, commit, `2 fdatasync(${LOG_FILE} <unfinished ...>`, committed, answer],
    early,
  ],
  ['a transaction that was rolled back', [begin, insert, begin, commit, flush, committed, answer], early],
  [
    'a sync of a table',
    [begin, insert, commit, `2 fdatasync(7<${hex('/data/base/1/2')}>) = 0`, committed, answer],
    early,
  ],
])('PostgreSQL: %s', (_, calls, faults) => {
  const seen = followed(calls.join('\n'), new PostgresLog());
  expect(seen.answers).toBe(1);
  expect(seen.faults).toEqual(faults);
});

function hex(text: string | Buffer): string {
  return [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}
