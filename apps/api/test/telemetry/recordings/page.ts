import type { Row, Score } from './compare.ts';
import { KNOWN_DEVIATIONS } from './known-deviations.ts';
import type { Recording } from './recording.ts';

const INTRODUCTION = `# Frameworks

What Quartermaster reads from the telemetry of real agent frameworks. Each row is a recording: the framework's own packages ran
against a scripted model server and a real MCP server (\`apps/instrumented-agents\`), and
\`apps/api/test/telemetry/recordings\` replays what its exporter sent. The numbers compare what was read with what the model
server, the MCP server and the program counted. The suite writes this page: \`npm run frameworks\`.

Frameworks whose packages do not run here (Python, Java, Go, .NET, gateways) are written by hand, after the source that their
section names: \`apps/api/test/telemetry/written\` has what they send as data, and what the program really did.

- **models, tools, agents**: how many of the used ones are observed, at the right provider and under the right name.
- **calls**: for how many models and tools every call is counted exactly once.
- **tokens**: for how many models the sums of input and output tokens are right.
- **blocks**: how many models, and tools of MCP servers and vendors, are reported if they were blocked before.
- **content**: how many of the words that the program put into prompts, answers, arguments, results, headers and errors are
  found in an answer or in the database, while the tenant does not capture content.
- **spurious**: observations of something that was not used.

A bold number is not what it should be. The section of the framework below says why.

## Content

While a tenant does not capture content, texts are stored only where they cannot be content:

- Strings of attributes are stored under names of OpenTelemetry conventions that hold ids, names, versions or enumerations
  (\`apps/api/src/telemetry/content/safe-names.ts\`), and under names that the framework's dialect declares safe. All other
  strings are removed, also in events, links, resources, scopes and nested values.
- A string under a safe name must have the right form (\`text-forms.ts\`): an id is one word of ASCII, a label has at most four
  words, a route consists of templates and short words, an error's name is that of a class. Other values are removed. Names of
  models, tools, agents and MCP resources are facts that observations contain anyway, so they are stored as they are.
- URLs under safe names, in facts and in names lose user, password, query and fragment. The URI of an MCP resource is observed
  with scheme, host and path, so resources that differ only in their query count as one. Addresses are reduced to host and port,
  \`url.full\` and similar attributes to scheme, host and port.
- A text that contains encoded content is removed whatever its name: a data URL, a text in base64 or hexadecimal digits of at least
  18 or 24 bytes, a file in base64. In names of models, tools, agents and services the encoded part is replaced, and an id becomes
  a digest.
- Numbers and booleans are stored, unless a dialect lists the attribute as content. Lists of more than 16 numbers under an
  unknown name are removed, because they may be an embedding. If the name of an attribute or key is not a single word (JSON, an
  e-mail address, another script, a long number), both name and value are removed.
- Status messages and trace states are removed.
- The name of a span of a known framework is stored, up to 128 characters, unless it reads like a sentence (more than eight
  words). The name of an application's own span is stored if it looks like an operation: one word, two plain words, or an
  operation and its target (\`chat gpt-5\`, \`GET /users/{id}\`). A target that may be content is removed. Any other name is
  replaced by \`(name left out)\`. The same holds for the names of events and scopes.
- If a tool or agent is known only by the name of its span, it is not observed if that name reads like a sentence: more than
  four words, or with punctuation.
- The attribute \`quartermaster.omitted\` of a span, resource or scope lists the names of what was removed, at most 64.
  \`quartermaster.omitted.count\` is the number of removed texts.

The form of a text does not always distinguish a secret from a name: if a program writes a password of one word where an id
belongs, it is stored.

With content capture on, everything except secrets is stored. Secrets are attributes and keys that are named like keys, tokens,
passwords and connection strings, also inside structured content, and the user and password of URLs outside of content.

## Recordings
`;

/** The frameworks as the console lists them where it connects an agent: how to switch on the telemetry of each. */
export function frameworksList(recordings: readonly Recording[]): string {
  const list = recordings.map(({ id, framework, version, setUp }) => {
    const own = version.startsWith('written by hand') ? null : version;
    return { id, name: framework, version: own, setUp: withoutSources(setUp) };
  });
  return `${JSON.stringify(list, null, 2)}\n`;
}

/** Without the paragraphs that say after which source a recording was written. */
function withoutSources(setUp: string): string {
  const paragraphs = setUp.trim().split(/\n{2,}/);
  return paragraphs.filter((paragraph) => !paragraph.startsWith('Source: ')).join('\n\n');
}

/** The text of docs/frameworks.md. */
export function frameworksPage(entries: readonly { recording: Recording; row: Row }[]): string {
  const sections = entries.map(({ recording }) => sectionOf(recording));
  return [INTRODUCTION, tableOf(entries), ...sections].join('\n');
}

function tableOf(entries: readonly { recording: Recording; row: Row }[]): string {
  const lines = entries.map(({ recording: { framework, version, id }, row }) => {
    const cells = [
      `[${framework}](#${id})`,
      version,
      ...[row.models, row.tools, row.agents, row.counts, row.tokens, row.blocks].map(scoreText),
      boldUnless(row.markers.length === 0, String(row.markers.length)),
      boldUnless(row.spurious.length === 0, String(row.spurious.length)),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| framework | version | models | tools | agents | calls | tokens | blocks | content | spurious |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}

function sectionOf({ id, framework, version, setUp, cannotKnow }: Recording): string {
  const { cannotKnow: unknowable = [], gaps = [] } = KNOWN_DEVIATIONS[id] ?? {};
  return [
    `<a id="${id}"></a>`,
    '',
    `## ${framework} (${version})`,
    '',
    setUp.trim(),
    '',
    ...listOf('What the telemetry does not contain:', cannotKnow),
    ...listOf('What is missing or different for that reason:', unknowable),
    ...listOf('What Quartermaster does not read yet:', gaps),
  ].join('\n');
}

function listOf(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, '', ...lines.map((line) => `- ${line}`), ''];
}

function scoreText(score: Score | null): string {
  if (score === null || score.of === 0) return '-';
  return boldUnless(score.right === score.of, `${score.right} of ${score.of}`);
}

function boldUnless(isRight: boolean, text: string): string {
  return isRight ? text : `**${text}**`;
}
