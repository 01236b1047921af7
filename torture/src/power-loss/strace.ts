import { spawnSync } from 'node:child_process';

/** Whether system calls can be watched here: strace is there, and may trace. */
export function hasStrace(): boolean {
  return spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
}

/**
 * The beginning or the end of a system call on a descriptor. What a call writes may be on its way from its beginning on, and
 * is written at its end; what it reads is known at its end.
 */
export type Moment = { pid: string; name: string; file: string; bytes: Buffer; at: 'begin' | 'end' };

const COMPLETE = /^(\d+) +(\w+)\(\d+<([^>]*)>(.*)\) += (\d+)/;
const UNFINISHED = /^(\d+) +(\w+)\(\d+<([^>]*)>(.*) <unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (\d+)/;

/** Reads what `strace -f -y -xx` wrote, in its order. Of a call that failed there is at most the beginning. */
export function* momentsOf(text: string): Generator<Moment> {
  const begun = new Map<string, Moment>();
  for (const line of text.split('\n')) {
    const whole = COMPLETE.exec(line);
    const [, pid = '', name = '', file = '', rest = ''] = whole ?? UNFINISHED.exec(line) ?? [];
    if (name !== '') {
      const moment: Moment = { pid, name, file: fromHex(file).toString(), bytes: bytesOf(rest), at: 'begin' };
      yield moment;
      if (whole) yield { ...moment, at: 'end' };
      else begun.set(pid, moment);
      continue;
    }
    const [, resumedPid = '', resumedName = '', more = ''] = RESUMED.exec(line) ?? [];
    const beginning = begun.get(resumedPid);
    if (beginning?.name !== resumedName) continue;
    begun.delete(resumedPid);
    yield { ...beginning, bytes: Buffer.concat([beginning.bytes, bytesOf(more)]), at: 'end' };
  }
}

export function isSync({ name }: Moment): boolean {
  return name === 'fdatasync' || name === 'fsync';
}

/** What stands in quotes, one text after the other: writev has several. */
function bytesOf(text: string): Buffer {
  const quoted = [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = '']) => hex);
  return fromHex(quoted.join(''));
}

/** Bytes as strace writes them: `\x2f\x74`. */
function fromHex(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}
