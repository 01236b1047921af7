import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { z } from 'zod';

/** The members of zod schema definitions that this folder reads. */
type Def = {
  type: string;
  innerType?: z.ZodType;
  getter?: () => z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  items?: z.ZodType[];
  options?: z.ZodType[];
  left?: z.ZodType;
  right?: z.ZodType;
};

export function defOf(schema: z.ZodType): Def {
  return schema._zod.def;
}

/** The schema inside optional, nullable, default, prefault, pipes and the like. */
export function unwrapped(schema: z.ZodType): z.ZodType {
  const def = defOf(schema);
  if (def.innerType) return unwrapped(def.innerType);
  if (def.type === 'lazy' && def.getter) return unwrapped(def.getter());
  // A preprocess is a pipe from a transform into the schema that matters.
  if (def.in && def.out) return unwrapped(defOf(def.in).type === 'transform' ? def.out : def.in);
  return schema;
}

export function isInteger(schema: z.ZodType): boolean {
  return (schema as { isInt?: unknown }).isInt === true;
}

/** The schemas that apply to the value at `loc` of an operation's input: several below a union. */
export function schemasAt(operation: Operation | undefined, loc: readonly (string | number)[]): z.ZodType[] {
  const [part, ...way] = loc;
  const root = part === 'path' ? operation?.params : part === 'query' ? operation?.query : operation?.body;
  let schemas = root ? alternatives(root) : [];
  for (const step of way) schemas = schemas.flatMap((schema) => below(schema, step)).flatMap(alternatives);
  return schemas;
}

function alternatives(schema: z.ZodType): z.ZodType[] {
  const plain = unwrapped(schema);
  const { options, left, right } = defOf(plain);
  if (options) return options.flatMap(alternatives);
  return left && right ? [left, right].flatMap(alternatives) : [plain];
}

function below(schema: z.ZodType, step: string | number): z.ZodType[] {
  const { shape, element, valueType, items } = defOf(schema);
  if (shape) return Object.hasOwn(shape, step) ? [shape[step] as z.ZodType] : [];
  const found = typeof step === 'number' ? (items?.[step] ?? element) : valueType;
  return found ? [found] : [];
}
