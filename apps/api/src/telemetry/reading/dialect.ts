import type { AttributeValue, OtlpSpan } from '../otlp/span.ts';
import type { Facts, Use } from './facts.ts';
import type { McpToolForm } from './mcp-name.ts';

/**
 * How one framework or convention writes spans and log records. A dialect is mostly data. `refine` and `uses` are functions
 * for what the other fields cannot express. CONTRIBUTING says how to add one.
 *
 * Every dialect also reads the OpenTelemetry GenAI and MCP names (`genai.ts`), after its own names, because most frameworks
 * write some of them. `ignores` excludes single names.
 */
export type Dialect = {
  /** Lower case with hyphens, such as `vercel-ai`. */
  name: string;
  /** Names of instrumentation scopes. They precede signatures of all dialects, and exact names precede patterns. */
  scopes?: readonly (string | RegExp)[];
  /** The attribute that names the instrumentation of a span, if all instrumentations of the sender share one scope. */
  instrumentation?: string;
  /** Attribute names. Under an unknown scope, one of them identifies the dialect. `x.*` is any name that begins with `x.`. */
  signature?: readonly string[];
  /** The attributes that hold each fact. The first one that is present is taken. */
  attributes?: FactSources;
  /**
   * Endings of attribute names that hold each fact, in lower case and with dots between words: `tool.name` covers
   * `acme.tool.name`, `acme_tool_name` and `acme.toolName`. Only for frameworks that no other dialect knows. A span with such an
   * attribute belongs to this dialect, unless `refine` removes all facts.
   */
  endings?: FactSources;
  /** Attributes of `genai.ts` that this framework uses for something else. */
  ignores?: readonly string[];
  /**
   * Maps the sender's names of operations, in lower case, to values of `gen_ai.operation.name` or to `handoff`, which uses
   * nothing unless a tool is named. Null: the name says nothing, and the next attribute is read. Names that are not listed stay
   * as they are. `refine` may set `delegate`: a tool that does not count if the span of an agent is inside it. It may set
   * `rejection`: the tool call around the span does not count, unless there are spans inside the span.
   */
  operations?: Readonly<Record<string, string | null>>;
  /**
   * Span names that say more than the attributes. Named groups of the pattern are facts: `/^execute_tool (?<tool>.+)$/`.
   * Attributes take precedence. The first pattern that matches is taken.
   */
  spanNames?: readonly { pattern: RegExp; operation?: string }[];
  /**
   * Operations, as the sender writes them and in lower case, whose spans enclose other spans and repeat the model that is
   * called inside. The model of such a span is shown, and not counted. `create_agent` is a wrapper in every dialect. So are
   * `invoke_agent`, `invoke_workflow` and `plan`, unless the span's kind is `client`.
   */
  wrappers?: readonly string[];
  /** This dialect's spellings of vendors, in lower case. Null: a framework's own name, which is not a vendor. */
  vendors?: Readonly<Record<string, string | null>>;
  /** The form of tool and server names. Other texts are not read, because they may be content. */
  names?: Readonly<{ tool: RegExp; toolServer: RegExp }>;
  /** Facts of every span of the dialect, unless the span says otherwise. */
  defaults?: Partial<Facts>;
  /** Names of tools that the agent itself runs: a coding agent's Bash, Read, Edit. `*` matches any characters. */
  agentTools?: readonly string[];
  /**
   * Attributes that hold content: prompts, answers, arguments, results, documents, error texts. Unless the tenant captures
   * content, they are not stored, not even numbers. A name also covers all names that continue it after `.`, `:` or `/`. `*`
   * matches any characters except these three.
   */
  content?: readonly string[];
  /** The part of span names that is content. It is not stored. */
  contentInSpanNames?: RegExp;
  /**
   * String attributes that cannot hold content, in addition to those of `content/safe-names.ts`: ids, names, versions, enums.
   * They are stored. Strings under other names are not. The names in `attributes` are safe as well, and need to be listed here
   * only if `content` covers them.
   */
  safe?: readonly string[];
  /**
   * If this dialect reads nothing in one of its spans, the span is not a call. Without this field another dialect whose names the
   * span has is tried next.
   */
  readsAlone?: true;
  /**
   * Each call of a tool that the vendor runs has its own span. So these calls are not read from the conventional attribute of
   * the answer.
   */
  serverToolsHaveSpans?: true;
  /** How the names of tools contain their MCP server. The server in the name takes precedence over attributes. */
  mcpTools?: McpToolForm;
  /** Attributes with tokens that the counts of the sender leave out. They are added. */
  uncounted?: Pick<FactSources, 'inputTokens' | 'outputTokens'>;
  /**
   * The vendor whose own token counts the span copies. The input of Anthropic and Bedrock excludes cached tokens, and the
   * output of Google excludes reasoning tokens. The excluded tokens are added. Null if the counts are those of the conventions.
   */
  countsOf?: (span: ReadSource, facts: Facts) => string | null;
  /** The attribute that holds the vendor's answer to a model call. The tools that the vendor ran are read from it. */
  answer?: string;
  /** Spans that are not calls, such as one that repeats the call of another span. */
  ignored?: SpanPattern;
  /** Spans of tools that never ran, because the user or a rule rejected the call. They do not count. See `wasRejected`. */
  rejected?: SpanPattern;
  /** Attributes that functions of the dialect read and that no other field names. */
  alsoReads?: readonly string[];
  /** Corrects what was read by the tables. Changes `facts` in place. */
  refine?: (span: ReadSource, facts: Facts) => void;
  /**
   * Whether the tool call of the span never ran, because the user or a rule rejected it or because it waits for an answer. Such
   * a call does not count. Use this for what `rejected` cannot express. It is called only for spans of tools, after `refine`.
   * The text of a tool's result or error must not be able to make it true. Otherwise a tool could hide its calls.
   */
  wasRejected?: (span: ReadSource, facts: Facts) => boolean;
  /** Replaces the uses of a span. `usual` are the uses by the general rules. */
  uses?: (span: ReadSource, facts: Facts, usual: Use[]) => Use[];
  /** The log events that report a call, by `eventName`. Other events of this dialect are dropped. */
  logs?: Readonly<Record<string, LogEvent>>;
};

/** Matches a span that has one of these. Values of attributes are compared as texts. */
export type SpanPattern = {
  name?: RegExp;
  attributes?: Readonly<Record<string, RegExp>>;
  errorType?: RegExp;
  /** The class of the exception that the span recorded, without its module. */
  exception?: RegExp;
};

/**
 * The attributes that hold each fact. `x#y.z` reads inside the attribute `x`, which is a JSON text: the key `z` of its key
 * `y`, or the key `y.z`. No attribute name contains `#`.
 */
export type FactSources = { readonly [fact in Exclude<keyof Facts, 'toolRunsAt'>]?: readonly string[] };

/**
 * The parts of a span or log record that a reader uses. For a log record, `name` is the event's name, `kind` is `internal`,
 * and there are neither events nor a status.
 */
export type ReadSource = Pick<OtlpSpan, 'name' | 'kind' | 'attributes' | 'scope' | 'resource'> &
  Partial<Pick<OtlpSpan, 'events' | 'status'>>;

/**
 * The parts of a log record that a reader uses. If the body is a list, as Effect's logger writes it, the attribute `body` has the
 * second item of the list: the data of the message as a JSON text.
 */
export type LogSource = Pick<OtlpSpan, 'attributes' | 'scope' | 'resource'> & {
  eventName: string | null;
  body: AttributeValue;
};

/** One kind of log event. A record with an `errorType` counts as failed. */
type LogEvent = {
  operation: string;
  /** Read before the dialect's own `attributes`. */
  attributes?: FactSources;
  /** The name of the event is a common word. It is this event only under a scope of the dialect. */
  isCommonName?: true;
  /** Whether the record reports a call. A rejected tool call, for example, is not one. */
  counts?: (record: LogSource) => boolean;
  /** Whether the record only adds tokens to a call that another record reports. */
  tokensOnly?: (record: LogSource) => boolean;
  /**
   * The record only says that a call failed. Another record reports the call, in the same span. A failure that was written in
   * another span is not read, because it does not tell which call failed.
   */
  isFailure?: true;
  /** The record says that a call was rejected. Other records and spans with the same call id do not count. */
  isRejection?: true;
};
