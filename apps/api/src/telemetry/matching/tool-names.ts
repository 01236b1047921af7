import { hash } from 'node:crypto';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import type { OfferedItem } from '@quartermaster/db/repositories/providers-of-traffic.ts';

/** One way to split a tool's name into a server's name and the name of its tool. */
export type ServerTool = {
  server: string;
  /** The server's name as frameworks rewrite it. */
  serverFamily: string;
  tool: string;
  /** The same of the tool's name. */
  toolFamily: string;
  /** Whether the form itself names a server: `mcp__server__tool`. Otherwise a server of this name must be known. */
  isExplicit: boolean;
  /** Whether names rarely contain this separator. Then the tool need not be declared at the server. */
  isMarked: boolean;
};

/** The maximum number of places at which a name is split. Bounds the work, because senders choose the names. */
const MAX_SPLITS = 8;

const SEPARATOR = /_{2,3}|[_\-./:]/g;

/** Two underscores with something on both sides. */
const EXPLICIT_SEPARATOR = /[^_]_{2,3}[^_]/;

/** The end of a truncated name: a hash or number that makes it unique. */
const CUT_MARK = /_?[0-9a-f]{4,12}$/;

/** Names of this length may be truncated. Frameworks truncate at 64 characters, some a little earlier. */
const CUT_LENGTH = 55;

/** The minimum number of characters that a truncated name must share with the whole name. */
const MIN_HEAD_CHARACTERS = 16;

/**
 * All ways to split a tool's name into its server's name and its own, as frameworks write them: `mcp__everything__echo`,
 * `mcp_everything_echo`, `everything__echo`, `everything_echo`, `everything.echo`, `everything-echo`, `everything/echo`.
 */
export function splitToolName(name: string): ServerTool[] {
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
    const [serverFamily, toolFamily] = [rewrittenName(server), rewrittenName(tool)];
    found.push({ server, serverFamily, tool, toolFamily, isExplicit, isMarked });
  }
  return found;
}

/** A name that a tool may have, and this name as frameworks rewrite it. */
export type Reading = { name: string; family: string };

/** A tool's name as it is written, and all that is compared with servers. */
export type WrittenTool = Reading & { splits: readonly ServerTool[] };

export function readToolName(name: string): WrittenTool {
  return { name, family: rewrittenName(name), splits: splitToolName(name) };
}

/**
 * The names that a tool may have at a server: the name as it is written, and without the server's name in front.
 *
 * @param serverFamilies the server's names as frameworks rewrite them
 */
export function readingsAt(serverFamilies: ReadonlySet<string>, { name, family, splits }: WrittenTool): Reading[] {
  const within = splits.filter(({ serverFamily }) => serverFamilies.has(serverFamily));
  return [{ name, family }, ...within.map(readingOf)];
}

/** The name of a tool without that of its server. */
export function readingOf({ tool, toolFamily }: ServerTool): Reading {
  return { name: tool, family: toolFamily };
}

/** The declared tools of a server. Traffic and inventories may name thousands, so only truncated names are compared with all tools. */
export type ToolIndex<T> = {
  all: readonly T[];
  byName: ReadonlyMap<string, T>;
  byFamily: ReadonlyMap<string, readonly T[]>;
};

export function indexTools<T extends Pick<OfferedItem, 'name' | 'nameFamily'>>(all: readonly T[]): ToolIndex<T> {
  return {
    all,
    byName: new Map(all.map((tool) => [tool.name, tool])),
    byFamily: Map.groupBy(all, ({ nameFamily }) => nameFamily),
  };
}

/**
 * The declared tool that a name means: the tool with exactly this name, otherwise the one that frameworks rewrite to it,
 * otherwise the one whose long name was truncated to it. Undefined if none or several match.
 *
 * @param readings the names that it may have at the server, see {@link readingsAt}
 */
export function declaredTool<T extends Pick<OfferedItem, 'nameFamily'>>(
  readings: readonly Reading[],
  { all, byName, byFamily }: ToolIndex<T>,
): T | undefined {
  const exact = readings.find(({ name }) => byName.has(name));
  if (exact !== undefined) return byName.get(exact.name);
  const sameFamily = readings.find(({ family }) => byFamily.has(family));
  if (sameFamily !== undefined) return sole(byFamily.get(sameFamily.family) ?? []);
  const [written] = readings;
  if (written === undefined || !isCut(written.name)) return undefined;
  const heads = [...new Set(readings.flatMap(({ family }) => headsOf(family)))];
  return sole(all.filter(({ nameFamily }) => heads.some((head) => isHeadOf(head, nameFamily))));
}

function sole<T>(fitting: readonly T[]): T | undefined {
  return fitting.length === 1 ? fitting[0] : undefined;
}

/** Whether a name may be truncated. */
export function isCut(name: string): boolean {
  return name.length >= CUT_LENGTH;
}

/** How the whole name may begin: with the truncated name, or with what is before the mark at its end. */
function headsOf(cut: string): string[] {
  return [cut, cut.replace(CUT_MARK, '')].filter(({ length }) => length >= MIN_HEAD_CHARACTERS);
}

function isHeadOf(head: string, whole: string): boolean {
  return head.length < whole.length && whole.startsWith(head);
}

/** Whether a name is a digest. GitHub Copilot sends digests in place of the names of MCP servers and their tools. */
export function isHashedName(name: string): boolean {
  return /^(?:sha256:)?[0-9a-f]{64}$/i.test(name);
}

/** The digests that may be sent in place of a tool's name: the SHA-256, in hex, of each usual form of the name. */
export function hashedNames(serverNames: readonly string[], tool: string): string[] {
  const separators = ['-', '/', '__', '_', '.', ':', ''];
  const forms = serverNames.flatMap((server) => [
    ...separators.map((separator) => `${server}${separator}${tool}`),
    `mcp__${server}__${tool}`,
  ]);
  return [tool, ...forms].map(hashedName);
}

export function hashedName(name: string): string {
  return hash('sha256', name);
}

/** A digest in lower case and without its prefix, for comparison. */
export function plainHash(name: string): string {
  return name.toLowerCase().replace(/^sha256:/, '');
}
