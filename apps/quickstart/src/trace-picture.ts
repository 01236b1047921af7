import type { Span } from '@quartermaster/client';

const NAME_COLUMNS = 30;
const BAR_COLUMNS = 38;

/** A span that names a model, a tool or an agent, and its depth below other such spans. */
type Shown = { span: Span; depth: number };

/**
 * A trace as an indented tree with a time bar for each span that names a model, a tool or an agent. The framework's steps
 * between them are left out, and counted.
 */
export function drawTrace(spans: Span[]): { lines: string[]; leftOut: number } {
  const shown = shownOf(spans);
  const start = Math.min(...shown.map(({ span }) => startOf(span)));
  const end = Math.max(...shown.map(({ span }) => startOf(span) + span.durationMs));
  const columnsOf = (milliseconds: number) => (milliseconds / Math.max(end - start, 1e-6)) * BAR_COLUMNS;
  const lines = shown.map(({ span, depth }) => {
    const { kind, name } = subjectOf(span);
    const before = Math.min(Math.floor(columnsOf(startOf(span) - start)), BAR_COLUMNS - 1);
    const length = Math.min(Math.max(Math.round(columnsOf(span.durationMs)), 1), BAR_COLUMNS - before);
    const bar = `${' '.repeat(before)}${'█'.repeat(length)}`.padEnd(BAR_COLUMNS);
    const label = `${'  '.repeat(depth)}${kind} ${name}`.padEnd(NAME_COLUMNS);
    return `${label} ${bar} ${span.durationMs.toFixed(1).padStart(7)} ms`;
  });
  return { lines, leftOut: spans.length - shown.length };
}

function shownOf(spans: Span[]): Shown[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const depthOf = (span: Span): number => {
    let depth = 0;
    // At most as many steps as there are spans, because the parents of spans may form a cycle.
    let above = span.parentSpanId === null ? undefined : byId.get(span.parentSpanId);
    for (let step = 0; above && step < spans.length; step += 1) {
      if (isShown(above)) depth += 1;
      above = above.parentSpanId === null ? undefined : byId.get(above.parentSpanId);
    }
    return depth;
  };
  return spans
    .filter(isShown)
    .toSorted((a, b) => startOf(a) - startOf(b) || b.durationMs - a.durationMs)
    .map((span) => ({ span, depth: depthOf(span) }));
}

function isShown({ genAi }: Span): boolean {
  return genAi !== null && genAi.operation !== null;
}

function subjectOf({ genAi, name }: Span): { kind: string; name: string } {
  if (genAi?.operation === 'execute_tool') return { kind: 'tool', name: genAi.tool ?? name };
  if (genAi?.operation === 'invoke_agent') return { kind: 'agent', name: genAi.agent ?? name };
  return { kind: 'model', name: genAi?.model ?? name };
}

/** Milliseconds since 1970, with fractions. Date alone would drop the nanoseconds of span times. */
function startOf({ startTime }: Span): number {
  const [, seconds = '', fraction = ''] = /^(.*?)(\.\d+)?Z$/.exec(startTime) ?? [];
  return Date.parse(`${seconds}Z`) + Number(`0${fraction}`) * 1000;
}
