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
