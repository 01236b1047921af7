import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { z } from 'zod';
import { type ListedItem, unreadableItem } from './item.ts';

/** A list that a sync asks MCP servers for. */
export type McpList = {
  method: string;
  /** The member of the answer that has the items. */
  member: string;
  /** Reads one item. An invalid item becomes an item with a fault, so that the others are still read. */
  itemOf: (raw: unknown) => ListedItem;
};

/** How the items of a list become items of an inventory. */
type Reader<Raw extends z.ZodType> = {
  method: string;
  member: string;
  kind: InventoryKind;
  /** The member of an item that has its name. */
  nameMember: string;
  schema: Raw;
  read: (item: z.infer<Raw>) => Omit<ListedItem, 'kind'>;
};

/** Servers in languages without optional members write null for what they do not have. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

const text = optional(z.string());
const object = optional(z.looseObject({}));
const number = optional(z.number());
const list = optional(z.array(z.unknown()));
const named = { title: text, description: text, annotations: object };

export const TOOLS = reader({
  method: 'tools/list',
  member: 'tools',
  kind: 'tool',
  nameMember: 'name',
  schema: z.object({ ...named, name: z.string(), inputSchema: z.looseObject({}), outputSchema: object }),
  read: ({ name, title, description, inputSchema, outputSchema, annotations }) => ({
    name,
    title: title ?? titleOf(annotations),
    description,
    attributes: { inputSchema, outputSchema, annotations },
    definition: { title, description, inputSchema, outputSchema, annotations },
  }),
});

// Named by URI, because spans (`mcp.resource.uri`) and `resources/read` name resources by URI.
export const RESOURCES = reader({
  method: 'resources/list',
  member: 'resources',
  kind: 'resource',
  nameMember: 'uri',
  schema: z.object({ ...named, uri: z.string(), name: text, mimeType: text, size: number }),
  read: ({ uri, name, title, description, mimeType, size, annotations }) => ({
    name: uri,
    title: title ?? name,
    description,
    attributes: { mimeType, size, annotations },
    definition: { title: title ?? name, description, mimeType },
  }),
});

export const TEMPLATES = reader({
  method: 'resources/templates/list',
  member: 'resourceTemplates',
  kind: 'resource',
  nameMember: 'uriTemplate',
  schema: z.object({ ...named, uriTemplate: z.string(), name: text, mimeType: text }),
  read: ({ uriTemplate, name, title, description, mimeType, annotations }) => ({
    name: uriTemplate,
    title: title ?? name,
    description,
    attributes: { template: true, mimeType, annotations },
    definition: { title: title ?? name, description, mimeType },
  }),
});

export const PROMPTS = reader({
  method: 'prompts/list',
  member: 'prompts',
  kind: 'prompt',
  nameMember: 'name',
  schema: z.object({ ...named, name: z.string(), arguments: list }),
  read: ({ name, title, description, arguments: parameters }) => ({
    name,
    title,
    description,
    attributes: { arguments: parameters },
    definition: { title, description, arguments: parameters },
  }),
});

const LISTS = new Map([TOOLS, RESOURCES, TEMPLATES, PROMPTS].map((one) => [one.method, one]));

/** The list that a method asks for; undefined for other methods. */
export function listOf(method: string): McpList | undefined {
  return LISTS.get(method);
}

function reader<Raw extends z.ZodType>({ method, member, kind, nameMember, schema, read }: Reader<Raw>): McpList {
  return {
    method,
    member,
    itemOf(raw) {
      const item = schema.safeParse(raw);
      return item.success ? { kind, ...read(item.data) } : unreadableItem(kind, raw, nameMember);
    },
  };
}

function titleOf(annotations: Record<string, unknown> | undefined): string | undefined {
  const title = annotations?.['title'];
  return typeof title === 'string' ? title : undefined;
}
