import { spawnSync } from 'node:child_process';

/** Whether system calls can be watched here: strace is there, and may trace. */
export function hasStrace(): boolean {
  return spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
}

/** A finished system call on a descriptor, in the order in which calls ended. */
export type SystemCall = { name: string; file: string; bytes: Buffer };

const COMPLETE = /^(\d+) +(\w+)\(\d+<([^>]*)>(.*)\) += (\d+)/;
const UNFINISHED = /^(\d+) +(\w+)\(\d+<([^>]*)>(.*) <unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>.*\) += (\d+)/;

/**
 * Reads the calls that succeeded of what `strace -f -y -xx` wrote. A call that was interrupted stands where it ended; one
 * that writes stands where it began, which is when its bytes may leave.
 */
export function* systemCalls(text: string): Generator<SystemCall> {
  const begun = new Map<string, SystemCall>();
  for (const line of text.split('\n')) {
    const [, pid = '', name = '', file = '', rest = ''] = COMPLETE.exec(line) ?? UNFINISHED.exec(line) ?? [];
    if (name === '') {
      const [, resumedPid = '', resumedName = ''] = RESUMED.exec(line) ?? [];
      const call = begun.get(`${resumedPid} ${resumedName}`);
      begun.delete(`${resumedPid} ${resumedName}`);
      if (call && isSync(call)) yield call;
      continue;
    }
    const call = { name, file: fromHex(file).toString(), bytes: bytesOf(rest) };
    if (COMPLETE.test(line) || !isSync(call)) yield call;
    if (!COMPLETE.test(line)) begun.set(`${pid} ${name}`, call);
  }
}

function isSync({ name }: SystemCall): boolean {
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
