import { type Compilable, type CompiledQuery, type DialectAdapter, type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from './database.ts';

/** A value as a column takes it. */
type Bound = string | number | Buffer | null;
type Values = Readonly<Record<string, Bound>>;

/** Stands for a value while a statement is compiled: the shared one of this name, or that of a row. */
class Slot {
  readonly row: number | null;
  readonly name: string;

  constructor(row: number | null, name: string) {
    this.row = row;
    this.name = name;
  }
}

/** Rows of one statement at the most: SQLite runs several of some rows sooner than one of hundreds. */
const MOST_ROWS = 64;

/**
 * A statement over any number of rows, which is compiled once for each power of two of them and split accordingly: to build
 * and compile a statement of 500 rows takes Kysely longer than the database takes to run it.
 *
 * @param build makes the query of values that it must hand on as they are: what it is given stands for them
 * @returns runs it; the transaction around it, where there are several rows, is for the caller
 */
export function rowStatement<Row extends Values, Shared extends Values, Result = never>(
  build: (db: Database, rows: readonly Row[], shared: Shared) => Compilable<Result>,
): (db: Database, rows: readonly Row[], shared: Shared) => Promise<Result[]> {
  // By dialect: each writes the same statement in its own way.
  const compiled = new WeakMap<DialectAdapter, Map<number, CompiledQuery<Result>>>();

  function compiledFor(db: Database, size: number): CompiledQuery<Result> {
    const { adapter } = db.getExecutor();
    const bySize = compiled.get(adapter) ?? new Map<number, CompiledQuery<Result>>();
    compiled.set(adapter, bySize);
    const known = bySize.get(size);
    if (known) return known;
    const rows = Array.from({ length: size }, (_, index) => slots(index) as Row);
    const query = build(db, rows, slots(null) as Shared).compile();
    bySize.set(size, query);
    return query;
  }

  return async (db, rows, shared) => {
    const found: Result[] = [];
    for (let start = 0, size = 0; start < rows.length; start += size) {
      size = Math.min(MOST_ROWS, 2 ** Math.floor(Math.log2(rows.length - start)));
      const query = compiledFor(db, size);
      const parameters = query.parameters.map((value) => {
        if (!(value instanceof Slot)) return value;
        return value.row === null ? shared[value.name] : rows[start + value.row]?.[value.name];
      });
      const { rows: some } = await db.executeQuery<Result>({ ...query, parameters });
      if (start === 0 && size === rows.length) return some;
      for (const row of some) found.push(row);
    }
    return found;
  };
}

/** The condition that some columns have one of the given combinations of values: an index on them serves it. */
export function among(columns: readonly string[], combinations: readonly (readonly Bound[])[]): Expression<SqlBool> {
  const names = columns.map((column) => sql.ref(column));
  const rows = combinations.map((values) => sql`(${sql.join(values)})`);
  return sql<SqlBool>`(${sql.join(names)}) in (values ${sql.join(rows)})`;
}

/** An object that has a slot under each name, and so no list of names. */
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
