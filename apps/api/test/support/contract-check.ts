import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { serviceDocument } from '../../src/server/document.ts';
import { withSharedParts } from './shared-parts.ts';

type Media = { schema?: object };
type Answer = { content?: Record<string, Media> };
type DocumentedOperation = {
  operationId: string;
  security: Record<string, string[]>[];
  parameters?: { name: string; in: string; required?: boolean }[];
  responses: Record<string, Answer>;
};
export type OpenApi = {
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: { schemas: Record<string, object> };
};

/** The served document, with shared parameters and responses copied to where they are used. */
export const document = withSharedParts(
  JSON.parse(JSON.stringify(serviceDocument('http://127.0.0.1:8080'))) as OpenApi,
);

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema(document, 'document');
const validators = new Map<string, ValidateFunction>();

export type Seen = { method: string; path: string; status: number; contentType: string | null; body: unknown };

/** How an answer deviates from the document: its status or media type is not declared, or its body does not match. */
export function contractFaults({ method, path, status, contentType, body }: Seen): string[] {
  const pathname = path.split('?')[0] ?? '';
  const template = templateOf(pathname, method);
  if (template === undefined)
    return status === 404 || status === 405 ? [] : [`${method} ${pathname} is not in the document`];
  const operation = document.paths[template]?.[method.toLowerCase()];
  const declared = operation?.responses[String(status)];
  if (!declared) return [`${method} ${template} does not declare ${status}`];
  if (!declared.content)
    return body === undefined || body === '' ? [] : [`${method} ${template} ${status} declares no body`];
  const media = contentType?.split(';')[0]?.trim() ?? '';
  if (!declared.content?.[media]) return [`${method} ${template} ${status} does not declare ${media}`];
  const at = ['paths', template, method.toLowerCase(), 'responses', String(status), 'content', media, 'schema'];
  const pointer = `document#/${at.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: pointer });
  validators.set(pointer, validate);
  if (validate(body)) return [];
  return (validate.errors ?? []).map(
    (fault) => `${method} ${template} ${status} ${fault.instancePath}: ${fault.message}`,
  );
}

/** The paths by method, those with the fewest parameters first, because literal segments win. */
const templates = new Map<string, { template: string; pattern: RegExp }[]>();
for (const [template, operations] of Object.entries(document.paths)) {
  const pattern = new RegExp(`^${template.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]*')}$`);
  for (const method of Object.keys(operations)) {
    const ofMethod = templates.get(method) ?? [];
    templates.set(method, [...ofMethod, { template, pattern }].toSorted(byParameters));
  }
}

function byParameters(one: { template: string }, other: { template: string }): number {
  return one.template.split('{').length - other.template.split('{').length;
}

/** The path template that a request's path matches. */
function templateOf(pathname: string, method: string): string | undefined {
  return templates.get(method.toLowerCase())?.find(({ pattern }) => pattern.test(pathname))?.template;
}
