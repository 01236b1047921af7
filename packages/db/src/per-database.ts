import type { DialectAdapter } from 'kysely';
import type { Database } from './database.ts';

/** A value for each database. By the adapter, since a database and all of its transactions share one. */
export function perDatabase<Value extends object>(create: () => Value): (db: Database) => Value {
  const values = new WeakMap<DialectAdapter, Value>();
  return (db) => {
    const { adapter } = db.getExecutor();
    let value = values.get(adapter);
    if (!value) values.set(adapter, (value = create()));
    return value;
  };
}
