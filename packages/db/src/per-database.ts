import type { DialectAdapter } from 'kysely';
import type { Database } from './database.ts';

/** One value for each database. The adapter is the key, because a database and all of its transactions share it. */
export function perDatabase<Value extends object>(create: () => Value): (db: Database) => Value {
  const values = new WeakMap<DialectAdapter, Value>();
  return (db) => {
    const { adapter } = db.getExecutor();
    let value = values.get(adapter);
    if (!value) values.set(adapter, (value = create()));
    return value;
  };
}
