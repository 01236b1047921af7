import { z } from 'zod';

type Schema = Record<string, unknown>;

/**
 * The JSON schema of a response as one would write it for Fastify. It is the contract's schema, with each `anyOf` of a type and
 * null replaced by a nullable type, because fast-json-stringify would validate each value to choose between them.
 */
export function serialisationSchema(output: { _output: unknown }): Schema {
  // The type of an operation's schema has only its output type.
  return simplified(
    z.toJSONSchema(output as unknown as z.ZodType, { io: 'output', unrepresentable: 'any', reused: 'inline' }),
  ) as Schema;
}

function simplified(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(simplified);
  if (typeof value !== 'object' || value === null) return value;
  const { anyOf, $schema: _schema, ...rest } = value as Schema & { anyOf?: Schema[] };
  const [only, ...others] = (anyOf ?? []).filter((one) => one['type'] !== 'null');
  if (anyOf !== undefined && only !== undefined && others.length === 0 && anyOf.length === 2) {
    return { ...(simplified(only) as Schema), nullable: true };
  }
  return Object.fromEntries(
    Object.entries(anyOf === undefined ? rest : { ...rest, anyOf }).map(([name, one]) => [name, simplified(one)]),
  );
}
