/** The result of a workload. */
export type Finding = { title: string; table: Table | null; figures: Figure[]; notes: string[] };

export type Table = { columns: string[]; rows: string[][] };

/** One measured figure, with the agreed value. */
export type Figure = {
  name: string;
  value: number;
  /** The agreed value; null: the figure is only shown for comparison. */
  agreed: number | null;
  /** Whether a higher or a lower value is better. */
  better: 'more' | 'less';
  unit: string;
};

/** The share of an agreed figure below which the suite fails. */
const TOLERANCE = 0.9;

/** Whether a figure misses the agreed value by so much that the suite fails. NaN fails, too. */
export function fails({ value, agreed, better }: Figure): boolean {
  if (agreed === null) return false;
  return better === 'more' ? !(value >= agreed * TOLERANCE) : !(value <= agreed / TOLERANCE);
}

export function reaches({ value, agreed, better }: Figure): boolean {
  return agreed === null || (better === 'more' ? value >= agreed : value <= agreed);
}

/** A finding as text. */
export function textOf({ title, table, figures, notes }: Finding): string {
  const lines = [title];
  if (table !== null) lines.push(...tableLines(table));
  for (const figure of figures) lines.push(`  ${figureText(figure)}`);
  for (const note of notes) lines.push(`  ${note}`);
  return `${lines.join('\n')}\n\n`;
}

function figureText(figure: Figure): string {
  const { name, value, agreed, better, unit } = figure;
  const shown = `${name}: ${number(value)}${unit}`;
  if (agreed === null) return shown;
  const verdict = reaches(figure) ? 'reached' : fails(figure) ? 'FAILED' : 'short of it';
  return `${shown} (agreed: ${better === 'more' ? 'at least' : 'at most'} ${number(agreed)}${unit}; ${verdict})`;
}

function tableLines({ columns, rows }: Table): string[] {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => (row[index] ?? '').length)),
  );
  const line = (cells: string[]) =>
    `  ${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join('  ')}`;
  return [line(columns), ...rows.map(line)];
}

/** A number with three significant digits. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '-';
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
