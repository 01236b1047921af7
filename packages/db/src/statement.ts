import type { Compilable, CompiledQuery } from 'kysely';
import type { Database } from './database.ts';

/** Shapes of one statement that are kept: lists of different lengths are shapes of their own. */
const SHAPES_KEPT = 100;

/** A statement of more values than these is long itself: keeping many would cost more memory than they save time. */
const VALUES_KEPT = 500;

/** A statement compiled for one shape of its values. */
type Kept = { compiled: CompiledQuery; slots: readonly (Slot | null)[] };

/**
 * A statement that runs often: built and compiled once for each shape of its values, and then run with the values
 * alone. Building and compiling a query costs more than SQLite needs to answer a short one.
 *
 * The values are plain data: objects and lists of texts and numbers. While the statement is built, every text and
 * number is a slot, which may be bound and nothing else: to compute with it throws. Null, undefined, booleans, the names
 * of members and the lengths of lists make the shape: a builder may decide by them.
 *
 * @param build makes the query out of the values; called again for each new shape
 * @returns a function that runs it and resolves to its rows
 */
export function statement<Values extends object, Row>(
  build: (db: Database, values: Values) => Compilable<Row>,
): (db: Database, values: Values) => Promise<Row[]> {
  // By the adapter: it is one object for a database and all transactions on it.
  const kept = new WeakMap<object, Map<string, Kept>>();
  return async (db, values) => {
    const { adapter } = db.getExecutor();
    let shapes = kept.get(adapter);
    if (!shapes) kept.set(adapter, (shapes = new Map()));
    const bound: unknown[] = [];
    const shape = shapeOf(values, bound);
    let found = shapes.get(shape);
    if (!found) {
      found = compile(db, build, values);
      if (bound.length <= VALUES_KEPT) keep(shapes, shape, found);
    }
    const { compiled, slots } = found;
    const parameters = slots.map((slot, index) => (slot === null ? compiled.parameters[index] : bound[slot.index]));
    const { rows } = await db.executeQuery<Row>({ ...compiled, parameters });
    return rows;
  };
}

/** Stands for a text or a number while a statement is built. */
class Slot {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  [Symbol.toPrimitive](): never {
    throw new Error('a value of a kept statement is not known while it is built: compute it before');
  }
}

function keep(shapes: Map<string, Kept>, shape: string, made: Kept): void {
  if (shapes.size >= SHAPES_KEPT) {
    const [oldest] = shapes.keys();
    if (oldest !== undefined) shapes.delete(oldest);
  }
  shapes.set(shape, made);
}

function compile<Values extends object, Row>(
  db: Database,
  build: (db: Database, values: Values) => Compilable<Row>,
  values: Values,
): Kept {
  let count = 0;
  const slotted = withSlots(values, () => new Slot(count++)) as Values;
  const compiled = build(db, slotted).compile();
  const slots = compiled.parameters.map((parameter) => (parameter instanceof Slot ? parameter : null));
  return { compiled, slots };
}

/** What of the values the text of the statement may depend on; the rest is collected in `bound`, in order. */
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
