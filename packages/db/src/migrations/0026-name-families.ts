import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The family of each name. Names that one declaration may cover have the same family. For models it is the name without dates,
 * versions and routes; for tools and providers the name as frameworks rewrite it. An index finds the names that a declaration
 * covers.
 *
 * Families are computed in JavaScript, with a copy of the rules as of this migration.
 */
export const nameFamilies: Migration = { up };

const BATCH_SIZE = 1000;

type Named = { table: string; keys: readonly string[]; name: string; hasKind: boolean };

const NAMED: readonly Named[] = [
  { table: 'providers', keys: ['tenant_id', 'id'], name: 'name_key', hasKind: false },
  { table: 'inventory_items', keys: ['tenant_id', 'id'], name: 'name_key', hasKind: true },
  { table: 'runtime_observations', keys: ['tenant_id', 'id'], name: 'name_key', hasKind: true },
  {
    table: 'manifest_declarations',
    keys: ['tenant_id', 'provider_key', 'kind', 'name', 'manifest_id'],
    name: 'name_key',
    hasKind: true,
  },
];

async function up(db: Kysely<unknown>): Promise<void> {
  for (const named of NAMED) {
    await db.schema
      .alterTable(named.table)
      .addColumn('name_family', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    await fillFamilies(db, named);
  }
  const index = (name: string, table: string, columns: string[]) =>
    db.schema.createIndex(name).on(table).columns(columns).execute();
  await index('providers_by_family', 'providers', ['tenant_id', 'name_family']);
  await index('inventory_items_by_family', 'inventory_items', ['tenant_id', 'provider_id', 'kind', 'name_family']);
  await index('inventory_items_of_family', 'inventory_items', ['tenant_id', 'kind', 'name_family']);
  await index('runtime_observations_by_family', 'runtime_observations', [
    'tenant_id',
    'provider_id',
    'kind',
    'name_family',
  ]);
  await index('manifest_declarations_by_family', 'manifest_declarations', [
    'tenant_id',
    'provider_key',
    'kind',
    'name_family',
  ]);
  // Look-ups by family have replaced the look-ups that used these indexes.
  await db.schema.dropIndex('inventory_items_by_kind').execute();
  await db.schema.dropIndex('manifest_declarations_by_key').execute();
  await db.schema
    .createIndex('inventory_items_blocked')
    .on('inventory_items')
    .columns(['tenant_id', 'provider_id'])
    .where(sql.ref('status'), '=', sql.lit('blocked'))
    .execute();
}

/** Pages along the primary key, since a table may have millions of rows. */
async function fillFamilies(db: Kysely<unknown>, { table, keys, name, hasKind }: Named): Promise<void> {
  const columns = sql.join(
    [...new Set([...keys, name, ...(hasKind ? ['kind'] : [])])].map((column) => sql.ref(column)),
  );
  const key = sql.join(keys.map((column) => sql.ref(column)));
  let after: Record<string, string> = Object.fromEntries(keys.map((column) => [column, '']));
  for (;;) {
    const from = sql.join(keys.map((column) => sql.val(after[column])));
    const { rows } = await sql<Record<string, string>>`
      select ${columns} from ${sql.ref(table)} where (${key}) > (${from}) order by ${key} limit ${BATCH_SIZE}`.execute(
      db,
    );
    for (const row of rows) {
      const same = keys.map((column) => sql`${sql.ref(column)} = ${row[column]}`);
      const family = familyOf(hasKind ? (row['kind'] ?? '') : 'tool', row[name] ?? '');
      await sql`update ${sql.ref(table)} set name_family = ${family} where ${sql.join(same, sql` and `)}`.execute(db);
    }
    const last = rows.at(-1);
    if (!last || rows.length < BATCH_SIZE) return;
    after = last;
  }
}

function familyOf(kind: string, nameKey: string): string {
  if (kind === 'model') return modelFamily(nameKey);
  if (kind !== 'tool') return nameKey;
  const rewritten = nameKey
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_');
  return rewritten.replaceAll(/^_|_$/g, '') || nameKey.normalize('NFKC').toLowerCase();
}

const PROFILE = /^(us|us-gov|eu|apac|ap|jp|au|ca|sa|me|af|global)\.(?=[a-z0-9]+\.)/;
const MAKER =
  /^(?:ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|zai)\.(?=.)/;

const COLON_PREFIX =
  /^(?:anthropic|aws|azure|azure[_-]ai|azure[_-]openai|bedrock|bedrock[_-]converse|cerebras|cohere|deepseek|fireworks|fireworks[_-]ai|gemini|google|google[_-]anthropic[_-]vertex|google-gla|google[_-]genai|google-vertex|google_vertexai|grok|groq|huggingface|ibm|litellm|mistral|mistralai|moonshotai|nvidia|ollama|openai|openai-chat|openai-responses|openrouter|perplexity|together|vercel|vertexai|x-ai|xai)$/;

function modelFamily(key: string): string {
  let start = key.length < 2 ? 0 : key.lastIndexOf('/', key.length - 2) + 1;
  for (;;) {
    const colon = key.indexOf(':', start);
    if (colon <= start || colon === key.length - 1 || !COLON_PREFIX.test(key.slice(start, colon))) break;
    start = colon + 1;
  }
  return withoutQualifiers(key.slice(start));
}

const MONTH = '(0[1-9]|1[0-2])';
const DAY = '(0[1-9]|[12]\\d|3[01])';

/** Each kind of suffix is removed at most once. */
const SUFFIXES: readonly { qualifier: string; pattern: RegExp }[] = [
  { qualifier: 'variant', pattern: /\[[\w.-]+\]$/ },
  { qualifier: 'revision', pattern: /-v\d+:\d+(?::\d+k)?$/ },
  { qualifier: 'date', pattern: /(?:[-:@]latest|@default)$/ },
  { qualifier: 'date', pattern: new RegExp(`[-@_:.](20\\d\\d)[-_.]?${MONTH}[-_.]?${DAY}$`) },
  { qualifier: 'date', pattern: new RegExp(`[-@](20\\d\\d)-?${MONTH}$`) },
  { qualifier: 'date', pattern: new RegExp(`-${MONTH}-(20\\d\\d)$`) },
  { qualifier: 'shortDate', pattern: new RegExp(`[-@](?:${MONTH}-?${DAY}|2\\d${MONTH}|0\\d\\d)$`) },
  { qualifier: 'tag', pattern: /:[\w.-]+$/ },
];

function withoutQualifiers(name: string): string {
  if (name.startsWith('ft:')) return name;
  const unrouted = strip(name, PROFILE);
  let rest = strip(unrouted, MAKER);
  const suffixes = rest === unrouted ? SUFFIXES : [{ qualifier: 'revision', pattern: /-v\d+$/ }, ...SUFFIXES];
  const found = new Set<string>();
  for (;;) {
    const current = rest;
    const suffix = suffixes.find(({ qualifier, pattern }) => !found.has(qualifier) && pattern.test(current));
    const index = suffix?.pattern.exec(current)?.index ?? 0;
    if (!suffix || index === 0) break;
    found.add(suffix.qualifier);
    rest = current.slice(0, index);
  }
  return rest.replace(/^gpt-35(?=-|$)/, 'gpt-3.5').replaceAll(/[\s._]+/g, '-');
}

function strip(text: string, pattern: RegExp): string {
  const rest = text.replace(pattern, '');
  return rest === '' ? text : rest;
}
