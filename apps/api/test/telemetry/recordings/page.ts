import type { Row, Score } from './compare.ts';
import { KNOWN_DEVIATIONS } from './known-deviations.ts';
import type { Recording } from './recording.ts';

const INTRODUCTION = `# Frameworks

What Quartermaster reads of real agent frameworks. Each row is a recording: the framework's own packages ran against a
scripted model server and a real MCP server (\`apps/instrumented-agents\`), and what its exporter sent is replayed by
\`apps/api/test/telemetry/recordings\`. The numbers compare what was read with what the model server, the MCP server and the
program counted. The suite writes this page: \`npm run frameworks\`.

- **models, tools, agents**: how many of those that were used are observed, at the right provider and under the right name.
- **calls**: for how many models and tools every call is counted, and counted once.
- **tokens**: for how many models the input and output tokens add up.
- **blocks**: how many of the models and tools of MCP servers and vendors are reported if they were blocked before.
- **content**: how many of the words that the program put into prompts, answers, arguments, results, headers and errors are
  found in an answer or in the database, while the tenant does not capture content.
- **spurious**: observations of something that was not used.

A number in bold is short of the truth; the framework's section below says why.

## Content

While a tenant does not capture content, texts are stored only where they cannot be content:

- Strings of attributes are stored under names of OpenTelemetry conventions that hold ids, names, versions or enumerations
  (\`apps/api/src/telemetry/content/safe-names.ts\`), and under names that the framework's dialect declares safe. Every other
  string is left out, also from events, links, resources, scopes and nested values.
- A string under a safe name must have the form of what belongs there (\`text-forms.ts\`): an id is one word of ASCII, a label
  at most four words, a route consists of templates and short words, an error's name is that of a class. Other values are left
  out. Names of models, tools, agents and MCP resources are facts: governance observes them, so they are stored as they are.
- URLs under safe names, in facts and in names lose user, password, query and fragment. The URI of an MCP resource is observed with
  scheme, host and path, so resources that differ only in their query are one. Addresses keep host and port. \`url.full\` and
  the like keep scheme, host and port.
- Numbers and booleans are stored, unless a dialect lists the attribute as content. Lists of more than 16 numbers under an
  unknown name are left out: they may be an embedding. An attribute or key whose name is no word (JSON, an e-mail address,
  another script, a long number) is left out with its name.
- Status messages and trace states are left out.
- The name of a span is kept, up to 128 characters, where its scope is that of a framework and it does not read like a sentence:
  at most eight words. Of an application's own spans it is kept if it looks like the name of an operation: one word, two plain
  words, or an operation and its target (\`chat gpt-5\`, \`GET /users/{id}\`). A target that may be content is left out, else the
  name is \`(name left out)\`. Names of events and scopes likewise.
- A tool or agent that is known only by the name of its span is not observed if that name reads like a sentence: more than four
  words, or with punctuation.
- The attribute \`quartermaster.omitted\` of a span, resource or scope lists the names of what was left out, at most 64, and
  \`quartermaster.omitted.count\` says how many texts it were.

A form cannot tell every secret from a name: a password of one word that a program puts where an id belongs is stored.

With content capture on, everything is stored but secrets: attributes and keys that are named like keys, tokens, passwords and
connection strings, also inside structured content, and the user and password of URLs outside of content.

## Recordings
`;

/** docs/frameworks.md. */
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
  const { cannotKnow: unsaid = [], gaps = [] } = KNOWN_DEVIATIONS[id] ?? {};
  return [
    `<a id="${id}"></a>`,
    '',
    `## ${framework} (${version})`,
    '',
    setUp.trim(),
    '',
    ...listOf('What its telemetry does not say:', cannotKnow),
    ...listOf('What is missing or different because of it:', unsaid),
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
