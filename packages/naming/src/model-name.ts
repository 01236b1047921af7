/**
 * A parsed model name: the model itself, and the qualifiers that senders add for a snapshot of it or a route to it.
 * `us.anthropic.claude-sonnet-5-20260101-v1:0` is `claude-sonnet-5` with the route `us`, the date 20260101 and the
 * revision v1:0.
 */
export type ModelName = {
  /** The directory before the name, a NUL, and the name without qualifiers. Only used in comparisons. */
  base: string;
  qualifiers: ReadonlyMap<Qualifier, string>;
  /** Whether it begins with its maker, as Bedrock's ids do. */
  hasMaker: boolean;
};

/**
 * - `route`: Bedrock's inference profile or ARN, a region
 * - `date`: YYYYMMDD, YYYYMM, or `latest`
 * - `revision`: Bedrock's `-v1:0`
 * - `variant`: a context size such as `[1m]`
 * - `shortDate`, `tag`: `-0613`, `-05-20`, `-002`, `:free`, `:70b`. These may also be another model.
 */
type Qualifier = 'route' | 'date' | 'revision' | 'variant' | 'shortDate' | 'tag';

/** Qualifiers that may also name a different model. A declaration does not cover them, but a block does. */
const DOUBTFUL: ReadonlySet<Qualifier> = new Set(['shortDate', 'tag']);

/** Qualifiers that only Bedrock's ids have. */
const BEDROCK_ONLY: ReadonlySet<Qualifier> = new Set(['route', 'revision']);

/**
 * The prefixes of routers and of clients that name one: `litellm_proxy/gpt-5`, `openrouter/anthropic/claude-sonnet-5`. A
 * model of any vendor may be behind any of them. No organisation that publishes models has such a name.
 */
const ROUTER =
  /^(?:ai-gateway|aihubmix|custom_openai|edenai|github|github[_-](?:copilot|models)|helicone|kilocode|litellm|litellm[_-]proxy|nano-gpt|netlify|openai[_-]compatible|openai_like|opencode|open[_-]?router|portkey|requesty|vercel|vercel[_-]ai[_-]gateway)\/(?=.)/i;
/** Portkey: `@openai/gpt-5`. Cloudflare's `@cf/` and `@hf/` belong to the model's name. */
const PORTKEY = /^@(?!cf\/|hf\/)(?=[\w.-]+\/.)/;

/** Splits a model's name from the routers in front of it. */
export function splitRouters(name: string): { routers: string[]; model: string } {
  const routers: string[] = [];
  let model = name;
  for (;;) {
    const [found] = ROUTER.exec(model) ?? PORTKEY.exec(model) ?? [];
    if (found === undefined) return { routers, model };
    routers.push(found === '@' ? 'portkey' : found.slice(0, -1));
    model = model.slice(found.length);
  }
}

/** Whether a vendor's name is that of a router. */
export function isRouter(vendor: string): boolean {
  return ROUTER.test(`${vendor}/-`);
}

/** @param vendorPrefixes case-folded prefixes that do not belong to the model's name */
export function parseModelName(key: string, vendorPrefixes: readonly string[]): ModelName {
  const qualifiers = new Map<Qualifier, string>();
  const { directory, name } = splitName(withoutPrefixes(key, vendorPrefixes, qualifiers));
  const base = `${directory}\0${withoutQualifiers(name, qualifiers)}`;
  return { base, qualifiers, hasMaker: MAKER.test(name.replace(PROFILE, '')) };
}

/**
 * The coarsest form of a model's name. All names that one declaration can cover have the same family, whatever the provider
 * is called. Names with the same family may still be different models.
 */
export function modelFamily(key: string): string {
  return withoutQualifiers(splitName(key).name, new Map());
}

/** How exactly a declaration names what it covers: a higher number is more exact. */
export type Coverage = { exactness: number; doubtful: boolean };

/** How a declared name covers an observed one. Null if it does not. Both come without their provider's prefix. */
export function modelCoverage(declared: ModelName, seen: ModelName): Coverage | null {
  if (declared.base !== seen.base) return null;
  let isCut = false;
  for (const [qualifier, value] of declared.qualifiers) {
    const isLatest = qualifier === 'date' && value === 'latest' && !seen.qualifiers.has('date');
    if (seen.qualifiers.get(qualifier) === value || isLatest) continue;
    // Some instrumentations cut Bedrock's ids to the maker's own name. The call may have had any route and revision then.
    isCut = BEDROCK_ONLY.has(qualifier) && declared.hasMaker && !seen.hasMaker && !seen.qualifiers.has(qualifier);
    if (!isCut) return null;
  }
  if (isCut) return { exactness: 0, doubtful: true };
  const added = [...seen.qualifiers.keys()].filter((qualifier) => !declared.qualifiers.has(qualifier));
  return { exactness: declared.qualifiers.size, doubtful: added.some((qualifier) => DOUBTFUL.has(qualifier)) };
}

/** Bedrock: `arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-...`. */
const ARN = /^arn:aws[\w-]*:bedrock:[^/]*\//;
/** Vertex AI and the Gemini API: `projects/p/locations/l/publishers/google/models/gemini-3`, `models/gemini-3`. */
const RESOURCE = /^(?:projects\/[^/]+\/locations\/[^/]+\/)?(?:publishers\/[^/]+\/)?models\//;
/** LiteLLM on Bedrock: `bedrock/converse/...`, `bedrock/us-east-1/...`. */
const BEDROCK_PATH = /^(?:converse|invoke|(?:us|eu|ap|sa|ca|me|af|il|mx)(?:-gov)?-[a-z]+-\d)\//;
const FIREWORKS = /^accounts\/fireworks\/models\//;
/** LiteLLM: `openai/responses/gpt-5` is `gpt-5` over the API of responses. */
const RESPONSES = /^responses\//;
const PROFILE = /^(us|us-gov|eu|apac|ap|jp|au|ca|sa|me|af|global)\.(?=[a-z0-9]+\.)/;
/** Bedrock names the maker of a model with a dot. */
const MAKER =
  /^(?:ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|zai)\.(?=.)/;

function withoutPrefixes(key: string, vendorPrefixes: readonly string[], qualifiers: Map<Qualifier, string>): string {
  let rest = key;
  for (let before = ''; before !== rest; ) {
    before = rest;
    const current = rest;
    const prefix = vendorPrefixes.find((one) => current.length > one.length + 1 && isPrefix(current, one));
    if (prefix !== undefined) rest = rest.slice(prefix.length + 1);
    rest = splitRouters(rest).model;
    for (const notation of [RESOURCE, FIREWORKS, RESPONSES]) rest = strip(rest, notation);
    for (const route of [ARN, BEDROCK_PATH]) rest = withoutRoute(rest, route, qualifiers);
  }
  return rest;
}

/** The prefixes that Pydantic AI and LangChain write before a colon. Others are no prefix: `llama3:70b` has a colon as well. */
const COLON_PREFIX =
  /^(?:anthropic|aws|azure|azure[_-]ai|azure[_-]openai|bedrock|bedrock[_-]converse|cerebras|cohere|deepseek|fireworks|fireworks[_-]ai|gemini|google|google[_-]anthropic[_-]vertex|google-gla|google[_-]genai|google-vertex|google_vertexai|grok|groq|huggingface|ibm|litellm|mistral|mistralai|moonshotai|nvidia|ollama|openai|openai-chat|openai-responses|openrouter|perplexity|together|vercel|vertexai|x-ai|xai)$/;

function isPrefix(name: string, prefix: string): boolean {
  if (!name.startsWith(prefix)) return false;
  const next = name[prefix.length];
  return next === '/' || (next === ':' && COLON_PREFIX.test(prefix));
}

function withoutRoute(name: string, route: RegExp, qualifiers: Map<Qualifier, string>): string {
  const [found = ''] = route.exec(name) ?? [];
  if (found === '' || found.length === name.length) return name;
  qualifiers.set('route', (qualifiers.get('route') ?? '') + found);
  return name.slice(found.length);
}

/** Splits a name from its directory: what precedes the last slash, and a vendor before a colon. */
function splitName(key: string): { directory: string; name: string } {
  let start = key.length < 2 ? 0 : key.lastIndexOf('/', key.length - 2) + 1;
  for (;;) {
    const colon = key.indexOf(':', start);
    if (colon <= start || colon === key.length - 1 || !COLON_PREFIX.test(key.slice(start, colon))) break;
    start = colon + 1;
  }
  return { directory: key.slice(0, start), name: key.slice(start) };
}

type Suffix = { qualifier: Qualifier; pattern: RegExp; value: (match: RegExpExecArray) => string };

const MONTH = '(0[1-9]|1[0-2])';
const DAY = '(0[1-9]|[12]\\d|3[01])';
const whole = ([text]: RegExpExecArray) => text.slice(1);

/** The suffixes, in the order in which they are searched for at the end of a name. */
const SUFFIXES: readonly Suffix[] = [
  { qualifier: 'variant', pattern: /\[[\w.-]+\]$/, value: whole },
  { qualifier: 'revision', pattern: /-v\d+:\d+(?::\d+k)?$/, value: whole },
  { qualifier: 'date', pattern: /(?:[-:@]latest|@default)$/, value: () => 'latest' },
  {
    qualifier: 'date',
    pattern: new RegExp(`[-@_:.](20\\d\\d)[-_.]?${MONTH}[-_.]?${DAY}$`),
    value: ([, year, month, day]) => `${year}${month}${day}`,
  },
  {
    qualifier: 'date',
    pattern: new RegExp(`[-@](20\\d\\d)-?${MONTH}$`),
    value: ([, year, month]) => `${year}${month}`,
  },
  { qualifier: 'date', pattern: new RegExp(`-${MONTH}-(20\\d\\d)$`), value: ([, month, year]) => `${year}${month}` },
  { qualifier: 'shortDate', pattern: new RegExp(`[-@](?:${MONTH}-?${DAY}|2\\d${MONTH}|0\\d\\d)$`), value: whole },
  { qualifier: 'tag', pattern: /:[\w.-]+$/, value: whole },
];

const MAY_HAVE_SUFFIX = /[\d\]]$|[-:@](?:latest|default)$|:[\w.-]+$/;

const DOTTED_REVISION: Suffix = { qualifier: 'revision', pattern: /-v\d+$/, value: whole };

/** Returns the base name, and adds the qualifiers that it removed to `qualifiers`. */
function withoutQualifiers(name: string, qualifiers: Map<Qualifier, string>): string {
  // A fine-tuned model is a different model: ft:gpt-4o-mini-2024-07-18:org:name:id
  if (name.startsWith('ft:')) return name;
  const unrouted = withoutRoute(name, PROFILE, qualifiers);
  let rest = strip(unrouted, MAKER);
  const suffixes = rest === unrouted ? SUFFIXES : [DOTTED_REVISION, ...SUFFIXES];
  // One quick check, since most names have no suffix.
  while (MAY_HAVE_SUFFIX.test(rest)) {
    const current = rest;
    const found = suffixes.find(({ qualifier, pattern }) => !qualifiers.has(qualifier) && pattern.test(current));
    const match = found?.pattern.exec(current);
    if (!found || !match || match.index === 0) break;
    qualifiers.set(found.qualifier, found.value(match));
    rest = current.slice(0, match.index);
  }
  return plainBase(rest);
}

const SEPARATORS = /[\s._]/;

/** Makes separators equal. Senders write versions with a dot, a hyphen or, on Azure, with neither. */
function plainBase(name: string): string {
  const plain = name.startsWith('gpt-35') ? name.replace(/^gpt-35(?=-|$)/, 'gpt-3.5') : name;
  return SEPARATORS.test(plain) ? plain.replaceAll(/[\s._]+/g, '-') : plain;
}

function strip(text: string, pattern: RegExp): string {
  const rest = text.replace(pattern, '');
  return rest === '' ? text : rest;
}
