import type { Compilable, CompiledQuery } from 'kysely';
import { BoundedMap } from './bounded-map.ts';
import type { Database } from './database.ts';
import { isPostgres } from './dialects/postgres.ts';
import type { PipelinedQuery, PipelinedResult } from './dialects/postgres-driver.ts';
import { perDatabase } from './per-database.ts';

/** The most cached shapes of one statement. Lists of different lengths are different shapes. */
const MAX_CACHED_SHAPES = 100;

/** Shapes with more values are not cached: their statements are long, and would cost more memory than they save time. */
const MAX_CACHED_VALUES = 500;

/** The most rows of one statement. SQLite runs several medium statements faster than one with hundreds of rows. */
const MAX_ROWS = 64;

/**
 * Up to this many rows go into one statement. More rows are split into a multiple of this number and a rest, so that few
 * shapes are needed.
 */
const EXACT_ROWS = 16;

/** The values of one row of a multi-row statement. */
type Row = Readonly<Record<string, string | number | Buffer | null>>;

/**
 * A statement that runs often. Kysely builds and compiles it once for each shape of its values. After that it is only
 * executed. Building and compiling a query takes longer than SQLite needs to answer a short one.
 *
 * The values are plain data: objects and lists of texts, numbers and bytes. The builder gets a placeholder instead of each of
 * them. It may bind the placeholder; computing with it throws. Null, undefined, booleans, member names and list lengths make
 * the shape, so the builder may branch on them.
 *
 * @param build makes the query from the values. It is called once for each new shape.
 * @returns a function that runs the statement and resolves to its rows
 */
export function preparedStatement<Values extends object, Result>(
  build: (db: Database, values: Values) => Compilable<Result>,
): (db: Database, values: Values) => Promise<Result[]> {
  const run = prepare((db, values: Values) => build(db, values));
  return (db, values) => run(db, values, []);
}

/**
 * A prepared statement over any number of rows. The number of rows is part of its shape, so many rows are split into
 * statements of a few sizes.
 *
 * The shape does not say which values of rows are null. Otherwise a batch of rows would hardly ever have a cached shape. So the
 * builder must bind the values of rows, and cannot branch on them.
 *
 * @param build makes the query from rows and from values that all rows share
 * @returns runs the statement. With several rows the caller opens the transaction. The parts are then sent together.
 */
export function multiRowStatement<OneRow extends Row, Shared extends object, Result = never>(
  build: (db: Database, rows: readonly OneRow[], shared: Shared) => Compilable<Result>,
): (db: Database, rows: readonly OneRow[], shared: Shared) => Promise<Result[]> {
  const run = prepare((db, shared: Shared, rows: readonly OneRow[]) => build(db, rows, shared));
  return async (db, rows, shared) => {
    const parts = inParts(rows).map((part) => () => run(db, shared, part));
    return (await together(db, parts)).flat();
  };
}

type Parts = readonly (() => unknown)[];
type Results<P extends Parts> = { -readonly [Index in keyof P]: Awaited<ReturnType<P[Index]>> };

/**
 * Runs parts of the work of a transaction that do not need each other's results or effects. On PostgreSQL their first
 * prepared statements are sent together, which saves round trips. On SQLite, which answers at once, the parts run one after
 * the other, so that long work yields between its statements. Outside of a transaction the parts also run one after the
 * other, because each part would take a connection of its own.
 *
 * Unlike `Promise.all` it waits until all started parts have ended, even if one fails. So no part goes on while the
 * transaction is rolled back.
 *
 * @throws the error of the first failed part, in the order of `parts`
 */
export async function together<const P extends Parts>(db: Database, parts: P): Promise<Results<P>> {
  if (!db.isTransaction || !isPostgres(db)) {
    const values: unknown[] = [];
    for (const part of parts) values.push(await part());
    return values as Results<P>;
  }
  const results = await Promise.allSettled(parts.map(async (part) => part()));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }) as Results<P>;
}

function prepare<Values extends object, OneRow extends Row, Result>(
  build: (db: Database, values: Values, rows: readonly OneRow[]) => Compilable<Result>,
): (db: Database, values: Values, rows: readonly OneRow[]) => Promise<Result[]> {
  const shapesOf = perDatabase(() => new BoundedMap<string, CompiledQuery<Result>>(MAX_CACHED_SHAPES));
  return async (db, values, rows) => {
    const shapes = shapesOf(db);
    const shape = `${rows.length}${shapeOf(values)}`;
    let query = shapes.get(shape);
    if (!query) {
      const rowSlots = rows.map((_, index) => slotsOfRow(index) as OneRow);
      query = build(db, slotsOf(values, ['values']) as Values, rowSlots).compile();
      if (shape.split(VALUE).length - 1 <= MAX_CACHED_VALUES) shapes.set(shape, query);
    }
    const input = { values, rows };
    const parameters = query.parameters.map((value) => (value instanceof Slot ? value.valueIn(input) : value));
    return execute(db, { ...query, parameters });
  };
}

/** Runs a query. In a transaction on PostgreSQL, it is sent although earlier statements may not be answered yet. */
async function execute<Result>(db: Database, compiled: CompiledQuery<Result>): Promise<Result[]> {
  const query: PipelinedQuery<Result> = { ...compiled, isPipelined: db.isTransaction };
  const result: PipelinedResult<Result> = await db.executeQuery(query);
  const { rows } = await (result.answer ?? result);
  return rows;
}

/** A placeholder for a value while a statement is built. */
class Slot {
  readonly #path: readonly (string | number)[];

  /** @param path where the value is in the input of the statement */
  constructor(path: readonly (string | number)[]) {
    this.#path = path;
  }

  valueIn(input: unknown): unknown {
    let value = input;
    for (const key of this.#path) value = (value as Record<string, unknown>)[key];
    return value;
  }

  [Symbol.toPrimitive](): never {
    throw new Error('the values of a prepared statement are not known while it is built: compute with them before');
  }
}

/** Stands for each value in a shape. */
const VALUE = '?';

function isValue(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || value instanceof Uint8Array;
}

/** What the text of the statement may depend on. */
function shapeOf(value: unknown): string {
  if (isValue(value)) return VALUE;
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) {
    let shape = '[';
    for (const item of value) shape += `${shapeOf(item)},`;
    return `${shape}]`;
  }
  let shape = '{';
  for (const name in value) shape += `${name}:${shapeOf((value as Record<string, unknown>)[name])},`;
  return `${shape}}`;
}

/** The same data with a slot in the place of each value. */
function slotsOf(value: unknown, path: readonly (string | number)[]): unknown {
  if (isValue(value)) return new Slot(path);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item, index) => slotsOf(item, [...path, index]));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, slotsOf(member, [...path, name])]));
}

/** A row that has a slot under every name. Its names cannot be enumerated. */
function slotsOfRow(index: number): Row {
  return new Proxy(
    {},
    {
      get: (_, name) => new Slot(['rows', index, String(name)]),
      ownKeys: () => {
        throw new TypeError('name each value that the statement takes');
      },
    },
  );
}

function inParts<Item>(items: readonly Item[]): (readonly Item[])[] {
  const parts: (readonly Item[])[] = [];
  for (let start = 0, size = 0; start < items.length; start += size) {
    const left = Math.min(items.length - start, MAX_ROWS);
    size = left <= EXACT_ROWS ? left : left - (left % EXACT_ROWS);
    parts.push(items.slice(start, start + size));
  }
  return parts;
}
