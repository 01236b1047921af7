import { spawnSync } from 'node:child_process';

/** Whether strace is installed, and may trace processes. */
export function hasStrace(): boolean {
  return spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
}

/**
 * The beginning or the end of a system call on a descriptor. The data of a write may be written from its beginning on, and are
 * written at its end. The data of a read are known at its end.
 */
export type Moment = { pid: string; name: string; file: string; bytes: Buffer; at: 'begin' | 'end' };

const COMPLETE = /^(\d+) +(\w+)\(\d+<([^>]*)>(.*)\) += (\d+)/;
const UNFINISHED = /^(\d+) +(\w+)\(\d+<([^>]*)>(.*) <unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (\d+)/;

/** Parses the output of `strace -f -y -xx` in order. A failed call has at most a beginning. */
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

/** The bytes of all quoted texts in order. writev has several. */
function bytesOf(text: string): Buffer {
  const quoted = [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = '']) => hex);
  return fromHex(quoted.join(''));
}

/** Bytes in strace's form: `\x2f\x74`. */
function fromHex(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}
