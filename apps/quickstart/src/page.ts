import { styleText } from 'node:util';

const COLUMNS = 88;
const INDENT = '   ';

/** The output of the story: plain text of at most 96 columns, with colours only on a terminal. */
export type Page = {
  title(text: string): void;
  /** A numbered section. */
  section(heading: string): void;
  /** Running text, wrapped. */
  say(text: string): void;
  /** Lines without wrapping. `''` is an empty line. */
  lines(lines: string[]): void;
};

type Style = 'bold' | 'dim' | 'green' | 'red' | 'cyan';

/** The text in a style if standard output is a terminal that supports it, else the plain text. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export function createPage(write: (text: string) => void): Page {
  let sections = 0;
  const lines = (all: string[]) => {
    for (const line of all) write(`${line === '' ? '' : `${INDENT}${line}`}\n`);
  };
  return {
    title: (text) => write(`${styled('bold', text)}\n`),
    section(heading) {
      sections += 1;
      write(`\n${styled('bold', `${sections}. ${heading}`)}\n`);
    },
    say: (text) => lines(wrapped(text)),
    lines,
  };
}

function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= COLUMNS) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Columns as wide as their widest cell. */
export function table(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd(),
  );
}
