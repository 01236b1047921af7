/** A time with nanoseconds, in two exact numbers: milliseconds since 1970, and the remaining nanoseconds. */
export type TimeParts = { milliseconds: number; nanoseconds: number };

/** A cache of the last second. The times of a batch are close together, and parsing or formatting dates is slow. */
let last = { text: '', milliseconds: -1 };

/** @param time RFC 3339, UTC, nanoseconds */
export function timeParts(time: string): TimeParts {
  if (last.text === '' || !time.startsWith(last.text)) {
    const text = time.slice(0, 19);
    last = { text, milliseconds: Date.parse(`${text}Z`) };
  }
  return { milliseconds: last.milliseconds + digits(time, 20, 23), nanoseconds: digits(time, 23, 29) };
}

/** Parses the digits from `start` to `end` as a number, without a substring, which would allocate. */
function digits(text: string, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) number = number * 10 + text.charCodeAt(at) - ZERO;
  return number;
}

const ZERO = '0'.charCodeAt(0);

export function nanoTime({ milliseconds, nanoseconds }: TimeParts): string {
  const beyond = milliseconds % 1000;
  const second = milliseconds - beyond;
  if (second !== last.milliseconds) {
    last = { text: new Date(second).toISOString().slice(0, 19), milliseconds: second };
  }
  return `${last.text}.${String(beyond * 1_000_000 + nanoseconds).padStart(9, '0')}Z`;
}
