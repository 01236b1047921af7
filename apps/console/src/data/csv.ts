import type { Page } from './page.ts';
import { problemOf } from './problem.ts';

/** Rows of one file at most. They are read by 500 requests or fewer, and a spreadsheet still opens the file. */
const MAX_CSV_ROWS = 50_000;

/** How often a page is asked for again after an answer 429. */
const MAX_WAITS = 10;

type CsvValue = string | number | boolean | readonly string[] | null | undefined;

/** A list as a CSV file. */
export type CsvSource<Row> = {
  /** The fields by the names in the header. A secret, content of calls or a free text is never one of them. */
  columns: Readonly<Record<string, (row: Row) => CsvValue>>;
  /** A row that changes while the list is read may come twice. The file has it once. */
  keyOf: (row: Row) => string;
  read: (cursor: string | undefined) => Promise<Page<Row>>;
};

export type WrittenCsv = { count: number; isComplete: boolean };

/**
 * Writes everything that a filter finds, page by page, so that only one page of records is in memory. If there are more than
 * `maxRows`, the last line says so.
 */
export async function writeCsv<Row>(
  { columns, keyOf, read }: CsvSource<Row>,
  write: (text: string, count: number) => void,
  maxRows = MAX_CSV_ROWS,
): Promise<WrittenCsv> {
  const fields = Object.values(columns);
  const keys = new Set<string>();
  let cursor: string | undefined;
  write(lineOf(Object.keys(columns)), 0);
  do {
    const { items, nextCursor } = await readPatiently(read, cursor);
    const lines: string[] = [];
    for (const row of items) {
      const key = keyOf(row);
      if (keys.has(key)) continue;
      if (keys.size === maxRows) {
        write(`${lines.join('')}${lineOf([limitText(maxRows)])}`, maxRows);
        return { count: maxRows, isComplete: false };
      }
      keys.add(key);
      lines.push(lineOf(fields.map((field) => field(row))));
    }
    write(lines.join(''), keys.size);
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
  return { count: keys.size, isComplete: true };
}

/** What the last line of an incomplete file says, and the console. */
export function limitText(count: number): string {
  return `Only the first ${count} rows. There are more: narrow the filter to get the others.`;
}

/** A long file may use up the rate limit. Its next page then waits for as long as the server says. */
async function readPatiently<Row>(
  read: CsvSource<Row>['read'],
  cursor: string | undefined,
  waits = 0,
): Promise<Page<Row>> {
  try {
    return await read(cursor);
  } catch (error) {
    const { retryAfterSeconds } = problemOf(error);
    if (retryAfterSeconds === undefined || waits === MAX_WAITS) throw error;
    await new Promise((resolve) => setTimeout(resolve, retryAfterSeconds * 1000));
    return readPatiently(read, cursor, waits + 1);
  }
}

function lineOf(values: readonly CsvValue[]): string {
  return `${values.map(cellOf).join(',')}\r\n`;
}

/**
 * Where a spreadsheet would begin a formula: at the start of a cell, also after a character that separates cells where the comma is
 * the decimal mark. Full-width signs count, too.
 */
const FORMULA_START = /(?<=^|[;\t\r\n])(?=[^\S\t\r\n]*[=+\-@＝＋－＠])/g;

/** RFC 4180. An apostrophe before what a spreadsheet would run as a formula makes it a text. */
function cellOf(value: CsvValue): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = (typeof value === 'string' ? value : value.join(' ')).replaceAll(FORMULA_START, "'");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
