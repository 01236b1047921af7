/** A table as text: texts are aligned to the left, numbers to the right. */
export function tableOf(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => String(row[column]).length)));
  const lines = [head, ...rows].map((row) =>
    row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width);
    }),
  );
  return lines.map((cells) => cells.join('  ').trimEnd()).join('\n');
}
