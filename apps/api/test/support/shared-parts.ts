type Json = Record<string, unknown>;
type Operation = { parameters?: Json[]; responses: Record<string, Json> };
type OpenApi = {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters?: Record<string, Json>; responses?: Record<string, Json> };
};

/** A copy of an OpenAPI document with its shared parameters and responses in the operations that refer to them. */
export function withSharedParts<Document extends object>(document: Document): Document {
  const copy = structuredClone(document) as Document & OpenApi;
  const { parameters = {}, responses = {} } = copy.components;
  for (const operation of Object.values(copy.paths).flatMap((methods) => Object.values(methods))) {
    if (operation.parameters) operation.parameters = operation.parameters.map((one) => resolved(one, parameters));
    for (const [status, answer] of Object.entries(operation.responses)) {
      operation.responses[status] = resolved(answer, responses);
    }
  }
  return copy;
}

function resolved(part: Json, shared: Record<string, Json>): Json {
  const { $ref } = part;
  if (typeof $ref !== 'string') return part;
  const found = shared[$ref.split('/').at(-1) ?? ''];
  if (!found) throw new Error(`the document has no ${$ref}`);
  return found;
}
