type JsonFault = { offset: number; reason: string };

const SPACE = /[ \t\n\r]*/y;
const ATOM = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Finds the syntax error in a text that JSON.parse refused, and describes it as Python's json module does, because FastAPI's
 * clients expect that offset and text. JSON.parse reports an offset only sometimes. Does not recurse, because the text may
 * nest arbitrarily deep.
 *
 * @returns the offset in characters (code points, as Python counts them).
 */
export function jsonFault(text: string): JsonFault {
  const fault = scan(text);
  return { ...fault, offset: characters(text, fault.offset) };
}

/** The code points before a position. */
function characters(text: string, end: number): number {
  let count = end;
  // The second half of a surrogate pair belongs to the character before it.
  for (let at = 1; at < end; at += 1) {
    if (isBetween(text.charCodeAt(at), 0xdc00, 0xdfff) && isBetween(text.charCodeAt(at - 1), 0xd800, 0xdbff))
      count -= 1;
  }
  return count;
}

function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}

function scan(text: string): JsonFault {
  const open: ('{' | '[')[] = [];
  let at = after(SPACE, text, 0);
  for (;;) {
    // A value must begin here.
    const start = text[at];
    if (start === '{' || start === '[') {
      open.push(start);
      at = after(SPACE, text, at + 1);
      if (text[at] !== (start === '{' ? '}' : ']')) {
        if (start === '[') continue;
        const key = scanKey(text, at);
        if (typeof key !== 'number') return key;
        at = key;
        continue;
      }
    } else {
      const end = start === '"' ? scanString(text, at) : after(ATOM, text, at);
      if (typeof end !== 'number') return end;
      if (end === at) return { offset: at, reason: 'Expecting value' };
      at = end - 1;
    }
    // A value ends at this character. Close the objects and lists that end here, then go to the next value.
    for (;;) {
      if (text[at] === '}' || text[at] === ']') open.pop();
      at = after(SPACE, text, at + 1);
      const within = open.at(-1);
      if (within === undefined) return { offset: at, reason: 'Extra data' };
      if (closes(within, text[at])) continue;
      if (text[at] !== ',') return { offset: at, reason: "Expecting ',' delimiter" };
      const comma = at;
      at = after(SPACE, text, at + 1);
      if (closes(within, text[at])) {
        const what = within === '{' ? 'object' : 'array';
        return { offset: comma, reason: `Illegal trailing comma before end of ${what}` };
      }
      if (within === '[') break;
      const key = scanKey(text, at);
      if (typeof key !== 'number') return key;
      at = key;
      break;
    }
  }
}

/** The position after a member's name and colon. */
function scanKey(text: string, at: number): number | JsonFault {
  if (text[at] !== '"') return { offset: at, reason: 'Expecting property name enclosed in double quotes' };
  const end = scanString(text, at);
  if (typeof end !== 'number') return end;
  const colon = after(SPACE, text, end);
  return text[colon] === ':' ? after(SPACE, text, colon + 1) : { offset: colon, reason: "Expecting ':' delimiter" };
}

/** The position after the closing quote. */
function scanString(text: string, start: number): number | JsonFault {
  let at = start + 1;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') return at + 1;
    if (char === '\\') {
      const end = after(ESCAPE, text, at);
      if (end === at && at + 1 < text.length) {
        return { offset: at, reason: text[at + 1] === 'u' ? 'Invalid \\uXXXX escape' : 'Invalid \\escape' };
      }
      at = Math.max(end, at + 1);
    } else if (text.charCodeAt(at) < 0x20) {
      return { offset: at, reason: 'Invalid control character at' };
    } else at++;
  }
  return { offset: start, reason: 'Unterminated string starting at' };
}

/** The position after a match of the sticky pattern at `at`; `at` itself if there is none. */
function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function closes(open: '{' | '[', char: string | undefined): boolean {
  return char === (open === '{' ? '}' : ']');
}
