import list from './frameworks.json' with { type: 'json' };

/** How to switch on the telemetry of a framework or coding agent, as docs/frameworks.md has it. */
export type Framework = {
  id: string;
  name: string;
  version: string | null;
  /** Markdown: paragraphs, and blocks of code. */
  setUp: string;
};

export const FRAMEWORKS: readonly Framework[] = list;

/**
 * What contains the text, the best matches first: those whose name begins with the text, then those that have it at the start of a
 * word, such as Vercel AI SDK for "AI SDK", then the rest, such as OpenAI SDK. Of these the shorter names are first.
 */
export function sortByMatch<Item>(items: readonly Item[], search: string, nameOf: (item: Item) => string): Item[] {
  const text = search.trim().toLowerCase();
  if (text === '') return [...items];
  const rankOf = (name: string) => (name.startsWith(text) ? 0 : name.includes(` ${text}`) ? 1 : 2);
  return items
    .map((item) => ({ item, name: nameOf(item).toLowerCase() }))
    .filter(({ name }) => name.includes(text))
    .toSorted((a, b) => rankOf(a.name) - rankOf(b.name) || a.name.length - b.name.length)
    .map(({ item }) => item);
}

/** The choice for everything that is not in the list. */
export const ANY = 'any';

type Protocol = 'http' | 'grpc';

/** What fills the gaps of a snippet. `key`: null if the page does not know its text. */
export type Filling = { address: string; key: string | null; service: string; protocol: Protocol };

/**
 * The form of an account's id. The lines are made to be pasted into a shell, and the id comes from the address. A link with something else
 * there must not put a command into them.
 */
const ACCOUNT_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;

export function isAccountId(text: string): boolean {
  return ACCOUNT_ID.test(text);
}

/** In the place of a key whose text is not known. */
const KEY_GAP = '<key>';

/** The port for gRPC, unless the operator changed it. */
const GRPC_PORT = '4317';

/** The environment variables that every OpenTelemetry exporter reads. */
export function environmentOf({ address, key, service, protocol }: Filling): string {
  return [
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${protocol === 'http' ? address : grpcAddress(address)}`,
    `export OTEL_EXPORTER_OTLP_PROTOCOL=${protocol === 'http' ? 'http/protobuf' : 'grpc'}`,
    `export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=${key ?? KEY_GAP}`,
    `export OTEL_SERVICE_NAME=${service}`,
  ].join('\n');
}

function grpcAddress(address: string): string {
  const url = new URL(address);
  url.port = GRPC_PORT;
  return url.origin;
}

/** The URL of the service in a set-up. */
const URL_GAP = /<Quartermaster's URL>|https:\/\/quartermaster\.example\.com/g;

/** Where the environment names the service. The protocol is then what `OTEL_EXPORTER_OTLP_PROTOCOL` says. */
const URL_IN_ENVIRONMENT = new RegExp(`\\bOTEL_EXPORTER_OTLP_ENDPOINT=(?:${URL_GAP.source})(?![\\w/])`, 'g');

/** What else names an address, the path of a signal, or an exporter for HTTP. */
const SENDS_HTTP =
  /<Quartermaster's URL|quartermaster\.example\.com|<host and port|\/v1\/(?:traces|logs)|otlp-(?:proto|http)|proto\.http|otlptracehttp|HttpSpanExporter|with_http/;

/** The protocol that the lines of a framework are for: HTTP if its set-up fixes that, otherwise what was chosen. */
export function protocolOf(framework: Framework | undefined, chosen: Protocol): Protocol {
  const fixed = framework !== undefined && SENDS_HTTP.test(framework.setUp.replaceAll(URL_IN_ENVIRONMENT, ''));
  return fixed ? 'http' : chosen;
}

/** A paragraph, or a block of code. */
type Part = { kind: 'text' | 'code'; text: string };

/** The parts of a set-up, with address, key and service filled in. The protocol is that of `protocolOf`. */
export function partsOf({ setUp }: Framework, filling: Filling): Part[] {
  return setUp
    .split(/^```\w*\n([\s\S]*?)^```$/m)
    .map((text, index): Part => ({ kind: index % 2 === 1 ? 'code' : 'text', text: filled(text.trim(), filling) }))
    .filter(({ text }) => text !== '');
}

function filled(text: string, { address, key, service, protocol }: Filling): string {
  const isGrpc = protocol === 'grpc';
  return text
    .replaceAll(URL_GAP, isGrpc ? grpcAddress(address) : address)
    .replaceAll('OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf', (fixed) =>
      isGrpc ? 'OTEL_EXPORTER_OTLP_PROTOCOL=grpc' : fixed,
    )
    .replaceAll(/<host and port of Quartermaster>/g, new URL(address).host)
    .replaceAll(/<Quartermaster's host>/g, new URL(address).hostname)
    .replaceAll(/<key of a service account with traces:write>|<key>/g, key ?? KEY_GAP)
    .replaceAll('<service>', service);
}
