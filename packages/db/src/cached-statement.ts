import type { Compilable, CompiledQuery } from 'kysely';
import { BoundedMap } from './bounded-map.ts';
import { executeCompiled } from './concurrent-statements.ts';
import type { Database } from './database.ts';
import { perDatabase } from './per-database.ts';

/** The most cached shapes of one statement. Lists of different lengths are different shapes. */
const MAX_CACHED_SHAPES = 100;

/** Statements with more values are not cached: they are long, and would cost more memory than they save time. */
const MAX_CACHED_VALUES = 500;

/** A statement that is compiled for one shape of its values. */
type CachedShape = { compiled: CompiledQuery; slots: readonly (Slot | null)[] };

/**
 * A statement that runs often. It is built and compiled once for each shape of its values, and then only run. Building and
 * compiling a query takes Kysely longer than SQLite needs to answer a short one.
 *
 * The values are plain data: objects and lists of texts and numbers. The builder gets a placeholder instead of every text and
 * number. It may bind the placeholder; computing with it throws. Null, undefined, booleans, member names and list lengths make
 * the shape, so the builder may branch on them.
 *
 * @param build makes the query from the values. It is called once for each new shape.
 * @returns a function that runs the statement and resolves to its rows
 */
export function cachedStatement<Values extends object, Row>(
  build: (db: Database, values: Values) => Compilable<Row>,
): (db: Database, values: Values) => Promise<Row[]> {
  const shapesOf = perDatabase(() => new BoundedMap<string, CachedShape>(MAX_CACHED_SHAPES));
  return async (db, values) => {
    const shapes = shapesOf(db);
    const bound: unknown[] = [];
    const shape = shapeOf(values, bound);
    let found = shapes.get(shape);
    if (!found) {
      found = compile(db, build, values);
      if (bound.length <= MAX_CACHED_VALUES) shapes.set(shape, found);
    }
    const { compiled, slots } = found;
    const parameters = slots.map((slot, index) => (slot === null ? compiled.parameters[index] : bound[slot.index]));
    const { rows } = await executeCompiled<Row>(db, { ...compiled, parameters });
    return rows;
  };
}

/** A placeholder for a text or a number while a statement is built. */
class Slot {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  [Symbol.toPrimitive](): never {
    throw new Error('the values of a cached statement are not known while it is built: compute with them before');
  }
}

function compile<Values extends object, Row>(
  db: Database,
  build: (db: Database, values: Values) => Compilable<Row>,
  values: Values,
): CachedShape {
  let count = 0;
  const slotted = withSlots(values, () => new Slot(count++)) as Values;
  const compiled = build(db, slotted).compile();
  const slots = compiled.parameters.map((parameter) => (parameter instanceof Slot ? parameter : null));
  return { compiled, slots };
}

/** What the text of the statement may depend on. The texts and numbers are collected in `bound`, in order. */
function shapeOf(value: unknown, bound: unknown[]): string {
  if (typeof value === 'string' || typeof value === 'number') {
    bound.push(value);
    return '?';
  }
  if (Array.isArray(value)) {
    let shape = '[';
    for (const item of value) shape += `${shapeOf(item, bound)},`;
    return `${shape}]`;
  }
  if (typeof value !== 'object' || value === null) return String(value);
  let shape = '{';
  for (const name in value) shape += `${name}:${shapeOf((value as Record<string, unknown>)[name], bound)},`;
  return `${shape}}`;
}

function withSlots(value: unknown, slot: () => Slot): unknown {
  if (typeof value === 'string' || typeof value === 'number') return slot();
  if (Array.isArray(value)) return value.map((item) => withSlots(item, slot));
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const name in value) copy[name] = withSlots((value as Record<string, unknown>)[name], slot);
  return copy;
}
