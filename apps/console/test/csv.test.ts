import { expect, test } from 'vitest';
import { type CsvSource, writeCsv } from '../src/data/csv.ts';
import { ApiProblem } from '../src/data/problem.ts';

type Row = { id: string; name: string | null };

const rowsOf = (...ids: number[]): Row[] => ids.map((id) => ({ id: String(id), name: `row ${id}` }));

/** A list whose cursors are the numbers of its pages. */
function sourceOf(...pages: Row[][]): CsvSource<Row> {
  return {
    columns: { id: ({ id }) => id, name: ({ name }) => name },
    keyOf: ({ id }) => id,
    read: async (cursor = '0') => {
      const next = Number(cursor) + 1;
      return { items: pages[Number(cursor)] ?? [], nextCursor: next < pages.length ? String(next) : null };
    },
  };
}

async function textOf(source: CsvSource<Row>, maxRows?: number) {
  const parts: string[] = [];
  const written = await writeCsv(source, (text) => parts.push(text), maxRows);
  return { ...written, text: parts.join(''), parts: parts.length };
}

const fileOfName = async (name: string) => (await textOf(sourceOf([{ id: '1', name }]))).text;

test('a CSV file has the rows of all pages, also after an empty page, and each row once', async () => {
  const { text, count, isComplete, parts } = await textOf(sourceOf(rowsOf(1, 2), [], rowsOf(2, 3)));
  expect(text).toBe('id,name\r\n1,row 1\r\n2,row 2\r\n3,row 3\r\n');
  expect({ count, isComplete, parts }).toEqual({ count: 3, isComplete: true, parts: 4 });
});

test('the last line of a CSV file says that the limit was reached, within a page and between pages', async () => {
  const limit = 'Only the first 2 rows. There are more: narrow the filter to get the others.';
  for (const pages of [[rowsOf(1, 2, 3)], [rowsOf(1, 2), rowsOf(3)]]) {
    const { text, count, isComplete } = await textOf(sourceOf(...pages), 2);
    expect(text).toBe(`id,name\r\n1,row 1\r\n2,row 2\r\n${limit}\r\n`);
    expect({ count, isComplete }).toEqual({ count: 2, isComplete: false });
  }
});

test('a CSV file with exactly as many rows as the limit is complete', async () => {
  expect(await textOf(sourceOf(rowsOf(1), rowsOf(2), []), 2)).toMatchObject({ count: 2, isComplete: true });
});

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['＝1+1', "'＝1+1"],
  [' =1+1', "' =1+1"],
  ['\t=1+1', `"\t'=1+1"`],
  ['a;=1+1', `"a;'=1+1"`],
  ['a\r\n=1+1', `"a\r\n'=1+1"`],
  ['a=1+1, b', '"a=1+1, b"'],
  ['say "hello"', '"say ""hello"""'],
  ['gpt-5', 'gpt-5'],
])('a spreadsheet does not run %j as a formula', async (name, cell) => {
  expect(await fileOfName(name)).toBe(`id,name\r\n1,${cell}\r\n`);
});

test('a page that the rate limit refuses is read again after the time that the server says', async () => {
  const source = sourceOf(rowsOf(1), rowsOf(2));
  let refusals = 2;
  const read: typeof source.read = async (cursor) => {
    if (cursor !== undefined && refusals > 0) {
      refusals -= 1;
      throw new ApiProblem({}, new Response(null, { status: 429, headers: { 'Retry-After': '0' } }));
    }
    return source.read(cursor);
  };
  expect(await textOf({ ...source, read })).toMatchObject({ count: 2, isComplete: true });
});

test('a page that fails in another way ends the file', async () => {
  const read = async () => {
    throw new ApiProblem({ title: 'Forbidden' }, new Response(null, { status: 403 }));
  };
  await expect(textOf({ ...sourceOf(), read })).rejects.toThrow('Forbidden');
});
