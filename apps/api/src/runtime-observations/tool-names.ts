import { createHash } from 'node:crypto';
import { rewrittenName } from '@quartermaster/db/name-family.ts';
import type { OfferedItem } from '@quartermaster/db/repositories/providers-of-traffic.ts';

/** How a tool's name may be read as a server's name and a tool's name there. */
export type ServerTool = {
  server: string;
  tool: string;
  /** Whether the form itself says that there is a server: `mcp__server__tool`. Else a server of this name must be known. */
  isExplicit: boolean;
  /** Whether the separator is one that names seldom have: then the tool need not be declared at that server. */
  isMarked: boolean;
};

/** Places where a name is split at the most: names come from senders. */
const MAX_SPLITS = 8;

const SEPARATOR = /_{2,3}|[_\-./:]/g;

/** Two underscores with something on both sides. */
const EXPLICIT_SEPARATOR = /[^_]_{2,3}[^_]/;

/** What a name that is cut because of its length ends in: a hash or a number that tells it from others. */
const CUT_MARK = /_?[0-9a-f]{4,12}$/;

/** Frameworks cut names at 64 characters, some a little before. */
const CUT_LENGTH = 55;
const SHORTEST_HEAD = 16;

/**
 * The ways to read a tool's name as one with its server's name in front, as frameworks write it: `mcp__everything__echo`,
 * `mcp_everything_echo`, `everything__echo`, `everything_echo`, `everything.echo`, `everything-echo`, `everything/echo`.
 */
export function serverToolsIn(name: string): ServerTool[] {
  const prefix = /^mcp(?:_{1,3}|[-./:])/i.exec(name)?.[0] ?? '';
  const rest = name.slice(prefix.length);
  const found: ServerTool[] = [];
  // In `mcp__files-prod__read` the server is files-prod, and not files.
  const isExplicitForm = prefix.length > 4 && EXPLICIT_SEPARATOR.test(rest);
  for (const { 0: separator, index } of [...rest.matchAll(SEPARATOR)].slice(0, MAX_SPLITS)) {
    if (isExplicitForm && separator.length === 1) continue;
    const [server, tool] = [rest.slice(0, index), rest.slice(index + separator.length)];
    if (server === '' || tool === '') continue;
    const isMarked = separator.length > 1 || prefix !== '';
    const isExplicit = separator.length > 1 && prefix.length > 4 && !found.some((one) => one.isExplicit);
    found.push({ server, tool, isExplicit, isMarked });
  }
  return found;
}

/** The ways to read a name as that of a tool at a server: with the server's name in front, and without. */
export function toolsAt(serverNames: readonly string[], name: string): string[] {
  const families = new Set(serverNames.map(rewrittenName));
  const within = serverToolsIn(name).filter(({ server }) => families.has(rewrittenName(server)));
  return [name, ...within.map(({ tool }) => tool)];
}

/**
 * The declared tool of a server that a name means: the one of exactly this name, else the one that frameworks write like it,
 * else the one whose long name it is a part of. Undefined where there is none, or several fit.
 *
 * @param readings of the name, see {@link toolsAt}
 * @param tools of that server
 */
export function declaredTool<T extends Pick<OfferedItem, 'name'>>(readings: readonly string[], tools: readonly T[]) {
  const tests = [
    (reading: string) => (tool: T) => tool.name === reading,
    (reading: string) => (tool: T) => rewrittenName(tool.name) === rewrittenName(reading),
  ];
  for (const test of tests) {
    for (const reading of readings) {
      const fitting = tools.filter(test(reading));
      if (fitting.length > 0) return fitting.length === 1 ? fitting[0] : undefined;
    }
  }
  const [written = ''] = readings;
  if (!isCut(written)) return undefined;
  const fitting = tools.filter(({ name }) => readings.some((reading) => isCutOf(reading, name)));
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** Whether a name may have been cut at its end. */
export function isCut(name: string): boolean {
  return name.length >= CUT_LENGTH;
}

function isCutOf(cut: string, name: string): boolean {
  const [rewritten, whole] = [rewrittenName(cut), rewrittenName(name)];
  return [rewritten, rewritten.replace(CUT_MARK, '')].some(
    (head) => head.length >= SHORTEST_HEAD && head.length < whole.length && whole.startsWith(head),
  );
}

/** A digest in place of a name: GitHub Copilot hides the names of MCP servers and their tools. */
export function isHashedName(name: string): boolean {
  return /^(?:sha256:)?[0-9a-f]{64}$/i.test(name);
}

/** What a tool of a server is called where names are hidden: the SHA-256, in hex, of one of the usual forms. */
export function hashedNames(serverNames: readonly string[], tool: string): string[] {
  const separators = ['-', '/', '__', '_', '.', ':', ''];
  const forms = serverNames.flatMap((server) => [
    ...separators.map((separator) => `${server}${separator}${tool}`),
    `mcp__${server}__${tool}`,
  ]);
  return [tool, ...forms].map(hashedName);
}

export function hashedName(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

/** A hashed name as it is compared. */
export function plainHash(name: string): string {
  return name.toLowerCase().replace(/^sha256:/, '');
}
