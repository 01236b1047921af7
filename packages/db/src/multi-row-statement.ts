import {
  type Compilable,
  type CompiledQuery,
  type Expression,
  type QueryResult,
  type RawBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import { executeCompiled, together } from './concurrent-statements.ts';
import type { Database } from './database.ts';
import { perDatabase } from './per-database.ts';

/** A value that can be bound to a column. */
type Bound = string | number | Buffer | null;
type Values = Readonly<Record<string, Bound>>;

/** A placeholder for a value while a statement is compiled: a shared value (`row` is null), or a value of a row. */
class Slot {
  readonly row: number | null;
  readonly name: string;

  constructor(row: number | null, name: string) {
    this.row = row;
    this.name = name;
  }
}

/** The most rows of one statement. SQLite runs several medium statements faster than one with hundreds of rows. */
const MAX_ROWS = 64;

/**
 * A statement over any number of rows. It is split into statements whose numbers of rows are powers of two, and each of these
 * is compiled once and cached. For 500 rows Kysely needs longer to build and compile a statement than the database to run it.
 *
 * Unlike `cachedStatement`, the text may not depend on which values are null: with nulls in its shape, a batch of rows
 * would hardly ever find a cached statement.
 *
 * @param build makes the query. It gets placeholders instead of values, and must bind them unchanged.
 * @returns runs the statement. With several rows the caller opens the transaction. Its parts are then sent together.
 */
export function multiRowStatement<Row extends Values, Shared extends Values, Result = never>(
  build: (db: Database, rows: readonly Row[], shared: Shared) => Compilable<Result>,
): (db: Database, rows: readonly Row[], shared: Shared) => Promise<Result[]> {
  const compiled = perDatabase(() => new Map<number, CompiledQuery<Result>>());

  function compiledFor(db: Database, size: number): CompiledQuery<Result> {
    const bySize = compiled(db);
    const known = bySize.get(size);
    if (known) return known;
    const rows = Array.from({ length: size }, (_, index) => slots(index) as Row);
    const query = build(db, rows, slots(null) as Shared).compile();
    bySize.set(size, query);
    return query;
  }

  return async (db, rows, shared) => {
    const parts: (() => Promise<QueryResult<Result>>)[] = [];
    for (let start = 0, size = 0; start < rows.length; start += size) {
      size = Math.min(MAX_ROWS, 2 ** Math.floor(Math.log2(rows.length - start)));
      const query = compiledFor(db, size);
      const parameters = query.parameters.map((value) => {
        if (!(value instanceof Slot)) return value;
        return value.row === null ? shared[value.name] : rows[start + value.row]?.[value.name];
      });
      parts.push(() => executeCompiled<Result>(db, { ...query, parameters }));
    }
    const results = await together(db, parts);
    return results.length === 1 ? (results[0]?.rows ?? []) : results.flatMap((result) => result.rows);
  };
}

/** The condition that some columns have one of the given combinations of values. An index on these columns can serve it. */
export function tupleIn(columns: readonly string[], combinations: readonly (readonly Bound[])[]): Expression<SqlBool> {
  const names = columns.map((column) => sql.ref(column));
  return sql<SqlBool>`(${sql.join(names)}) in ${valueRows(combinations)}`;
}

/** Rows of values that a statement can select from: `(values (1, 'a'), (2, 'b'))`. */
export function valueRows<Row>(rows: readonly (readonly unknown[])[]): RawBuilder<Row> {
  return sql<Row>`(values ${sql.join(rows.map((values) => sql`(${sql.join(values)})`))})`;
}

/** An object that has a placeholder under every name. Its names cannot be enumerated. */
function slots(row: number | null): Values {
  return new Proxy(
    {},
    {
      get: (_, name) => new Slot(row, String(name)),
      ownKeys: () => {
        throw new TypeError('name each value that the statement takes');
      },
    },
  );
}
