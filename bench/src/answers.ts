import { request } from 'node:http';

/** An HTTP response as received. */
export type Answer = { status: number; headers: [string, string][]; body: Buffer };

export type Asked = { method: string; path: string; headers: Record<string, string>; body?: string | Buffer };

export function ask(port: number, { method, path, headers, body }: Asked): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const raw = answer.rawHeaders;
        const pairs = raw.flatMap((text, at): [string, string][] => (at % 2 === 0 ? [[text, raw[at + 1] ?? '']] : []));
        resolve({ status: answer.statusCode ?? 0, headers: pairs, body: Buffer.concat(chunks) });
      });
    });
    sent.on('error', reject).end(body);
  });
}

/** Headers that Node adds on every server. */
const NODE_HEADERS = new Set(['date', 'connection', 'keep-alive']);

/** Headers whose value differs for each response. Only their presence and length are compared. */
const VARIABLE_HEADERS = /^(x-request-id|etag|ratelimit.*)$/;

/** The headers of a response that a floor has to send, too. */
export function ownHeaders({ headers }: Answer): [string, string][] {
  return headers.filter(([name]) => !NODE_HEADERS.has(name.toLowerCase()));
}

/**
 * The differences between a floor's response and this API's. The order of object members is ignored, because readers of JSON
 * must not rely on it.
 */
export function differences(ours: Answer, floor: Answer): string[] {
  const found: string[] = [];
  if (ours.status !== floor.status) found.push(`status ${floor.status}, not ${ours.status}`);
  const [wanted, sent] = [headerLines(ours), headerLines(floor)];
  for (const line of wanted) if (!sent.includes(line)) found.push(`without the header ${line}`);
  for (const line of sent) if (!wanted.includes(line)) found.push(`with the header ${line}`);
  if (ours.body.length !== floor.body.length) found.push(`${floor.body.length} bytes, not ${ours.body.length}`);
  const [expected, body] = [comparable(ours.body), comparable(floor.body)];
  if (expected !== body) {
    const at = firstDifference(expected, body);
    const near = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 40), at + 80));
    found.push(`another body at character ${at}: ${near(body)}, not ${near(expected)}`);
  }
  return found;
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

function headerLines(answer: Answer): string[] {
  return ownHeaders(answer).map(([name, value]) => {
    const shown = VARIABLE_HEADERS.test(name.toLowerCase()) ? `<${value.length} characters>` : value;
    return `${name.toLowerCase()}: ${shown}`;
  });
}

/** A body in which values that differ for each response are replaced: times, new ids and signatures. */
function comparable(body: Buffer): string {
  const text = body.toString('utf8');
  return (text.startsWith('{') ? JSON.stringify(sorted(JSON.parse(text))) : text)
    .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]{86}(?=")/g, (token) => {
      const [header = '', claims = ''] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
      return `<token of ${header} ${claims}>`.replaceAll(/"(iat|exp)":\d+/g, '"$1":<seconds>');
    })
    .replaceAll(/\b(sa|ses|sig)_[0-9a-z]{26}\b/g, '$1_<id>')
    .replaceAll(/"(issuedAt|expiresAt|createdAt|updatedAt)":"[0-9T:.-]+Z"/g, '"$1":"<time>"');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, sorted(member)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}
