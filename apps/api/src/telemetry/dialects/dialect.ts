import type { AttributeValue, OtlpSpan } from '../otlp/span.ts';
import type { Facts, Use } from './facts.ts';

/**
 * How one framework or convention writes spans and log records. A dialect is data: what a table cannot say goes into
 * `refine` and `uses`. To add one, write a file, put it into the table in `table.ts`, and add a recording.
 *
 * Every dialect also reads the OpenTelemetry GenAI and MCP names (`genai.ts`), after its own names, since most frameworks
 * write some of them. `ignores` takes single names out.
 */
export type Dialect = {
  /** Lower case with hyphens, such as `vercel-ai`. */
  name: string;
  /** Names of instrumentation scopes. A scope decides before any signature does. A string matches exactly. */
  scopes?: readonly (string | RegExp)[];
  /** Attribute names, one of which identifies the dialect under an unknown scope. `x.*` is any name that begins with `x.`. */
  signature?: readonly string[];
  /** Where facts stand, the first name that is present decides. */
  attributes?: FactSources;
  /** Names of `attributes` of `genai.ts` that this framework fills with something else. */
  ignores?: readonly string[];
  /**
   * The operation by what the sender calls it, in lower case. Null: says nothing, the next source decides. What is not
   * listed stays as it is written. Use the values of `gen_ai.operation.name`, and `handoff`, which uses nothing where no tool is
   * named. `refine` may say `delegate`: a tool that does not count if the span of an agent is inside it.
   */
  operations?: Readonly<Record<string, string | null>>;
  /**
   * Span names that tell what attributes do not. Named groups of the pattern are facts: `/^execute_tool (?<tool>.+)$/`.
   * Attributes decide before names do. The first pattern that matches is taken.
   */
  spanNames?: readonly { pattern: RegExp; operation?: string }[];
  /**
   * Operations, as the sender writes them and in lower case, whose spans consist of other spans and repeat the model that
   * is called in them. The model of such a span is shown and not counted. `invoke_agent`, `create_agent`, `invoke_workflow`
   * and `plan` are wrappers everywhere, unless the span's kind is `client`.
   */
  wrappers?: readonly string[];
  /** This dialect's spellings of vendors, in lower case. Null: a framework's own name, which is not a vendor. */
  vendors?: Readonly<Record<string, string | null>>;
  /**
   * What names of tools and their servers look like, where the sender says so: a text that does not match is not read, since
   * it may be content.
   */
  names?: Readonly<{ tool: RegExp; toolServer: RegExp }>;
  /** Facts that hold for every span that says anything, where nothing else says otherwise. */
  defaults?: Partial<Facts>;
  /** Names of tools that the agent itself runs: a coding agent's Bash, Read, Edit. `*` stands for any characters. */
  agentTools?: readonly string[];
  /** Names of tools that the vendor runs: web search, code execution. `*` stands for any characters. */
  vendorTools?: readonly string[];
  /**
   * Attributes that hold content: prompts, answers, arguments, results, documents, error texts. They are left out with
   * everything below them, numbers included, unless the tenant captures content. A name stands for itself and for what
   * follows it after `.`, `:` or `/`. `*` stands for any characters but these three.
   */
  content?: readonly string[];
  /**
   * String attributes that cannot hold content, beside those of `content/safe-names.ts`: ids, names, versions, enums. They
   * are stored. A string under any other name is not. The names in `attributes` need not be repeated here, unless they stand
   * in `content` too.
   */
  safe?: readonly string[];
  /** Attributes that `refine` and `uses` look at and that no other field names. */
  alsoReads?: readonly string[];
  /** Corrects what the tables say. Changes `facts` in place. */
  refine?: (span: ReadSource, facts: Facts) => void;
  /** Replaces what the span counts as. `usual` is what the general rules say. */
  uses?: (span: ReadSource, facts: Facts, usual: Use[]) => Use[];
  /** The log events that tell of a call, by `eventName`. Other events of this dialect are dropped. */
  logs?: Readonly<Record<string, LogEvent>>;
};

/**
 * `x#y.z` reads inside the attribute `x`, which is a JSON text: its key `y`, and in that key `z`. No attribute name
 * contains `#`.
 */
export type FactSources = { readonly [fact in Exclude<keyof Facts, 'toolRunsAt'>]?: readonly string[] };

/**
 * What a reader sees of a span or a log record. Of a log record, `name` is the event's name, `kind` is `internal`, and there
 * are no events.
 */
export type ReadSource = Pick<OtlpSpan, 'name' | 'kind' | 'attributes' | 'scope' | 'resource'> &
  Partial<Pick<OtlpSpan, 'events'>>;

/** What a reader sees of a log record. */
export type LogSource = Pick<OtlpSpan, 'attributes' | 'scope' | 'resource'> & {
  eventName: string | null;
  body: AttributeValue;
};

/** One kind of log event. A record that has an `errorType` counts as failed. */
type LogEvent = {
  operation: string;
  /** Read before the dialect's own `attributes`. */
  attributes?: FactSources;
  /** Records to which this answers false tell of no call, such as a tool call that was rejected. */
  counts?: (record: LogSource) => boolean;
  /** Records to which this answers true only add tokens to a call that another record counts. */
  tokensOnly?: (record: LogSource) => boolean;
};
