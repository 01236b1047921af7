/** The parts of JSON Schema that the served schemas use. Validators from npm compile code, which the page's policy forbids. */
export type JsonSchema = {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  patternProperties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  required?: string[];
  items?: JsonSchema;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
};

export type SchemaFault = { path: (string | number)[]; message: string };

/** What is wrong with a value. The server checks it again and has the last word. */
export function schemaFaults(
  value: unknown,
  schema: JsonSchema,
  root = schema,
  path: (string | number)[] = [],
): SchemaFault[] {
  const name = schema.$ref?.split('/').at(-1);
  if (name !== undefined) return schemaFaults(value, root.$defs?.[name] ?? {}, root, path);
  const where = path.length === 0 ? 'The document' : path.join('.');
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    return [{ path, message: `${where} should be one of ${schema.enum.join(', ')}.` }];
  }
  if (schema.type !== undefined && !isOfType(value, schema.type)) {
    return [{ path, message: `${where} should be of type ${schema.type}.` }];
  }
  if (typeof value === 'string') return textFaults(value, schema, { path, where });
  if (Array.isArray(value)) {
    const items = schema.items ?? {};
    const tooMany = schema.maxItems !== undefined && value.length > schema.maxItems;
    return [
      ...(tooMany ? [{ path, message: `${where} has more than ${schema.maxItems} entries.` }] : []),
      ...value.flatMap((each, index) => schemaFaults(each, items, root, [...path, index])),
    ];
  }
  if (typeof value === 'object' && value !== null) return objectFaults(value, schema, { root, path, where });
  return [];
}

type Context = { path: (string | number)[]; where: string };

function textFaults(
  value: string,
  { minLength = 0, maxLength = Infinity }: JsonSchema,
  { path, where }: Context,
): SchemaFault[] {
  if (value.length < minLength) return [{ path, message: `${where} should not be empty.` }];
  if (value.length > maxLength) return [{ path, message: `${where} should have at most ${maxLength} characters.` }];
  return [];
}

function objectFaults(
  value: object,
  schema: JsonSchema,
  { root, path, where }: Context & { root: JsonSchema },
): SchemaFault[] {
  const { properties = {}, patternProperties = {}, additionalProperties, required = [] } = schema;
  const missing = required
    .filter((name) => !(name in value))
    .map((name) => ({ path, message: `${where} needs ${name}.` }));
  const faults = Object.entries(value).flatMap(([name, each]) => {
    const pattern = Object.entries(patternProperties).find(([text]) => new RegExp(text).test(name))?.[1];
    const own = properties[name] ?? pattern;
    if (own !== undefined) return schemaFaults(each, own, root, [...path, name]);
    if (additionalProperties !== false) return [];
    return [
      { path: [...path, name], message: `${name} is not a field here. Known: ${Object.keys(properties).join(', ')}.` },
    ];
  });
  return [...missing, ...faults];
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'null') return value === null;
  return typeof value === type;
}
