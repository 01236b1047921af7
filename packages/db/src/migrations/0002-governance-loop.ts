import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Syncs, drift, provider credentials, leased tasks, and a key that all variants of a name share. */
export const governanceLoop: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await addColumns('providers', { sync_interval_seconds: 'integer', next_sync_at: 'text' });
  await db.schema
    .createIndex('providers_by_next_sync')
    .on('providers')
    .columns(['next_sync_at', 'id'])
    .where(sql.ref('next_sync_at'), 'is not', null)
    .execute();

  await addColumns('credentials', { slot: 'text', header: 'text', scheme: 'text' });
  await db.schema
    .createIndex('credentials_by_slot')
    .unique()
    .on('credentials')
    .columns(['tenant_id', 'owner_id', 'slot'])
    .where(sql.ref('kind'), '=', 'provider_secret')
    .where(sql.ref('revoked_at'), 'is', null)
    .execute();
  await db.schema
    .createIndex('credentials_by_expiry')
    .on('credentials')
    .columns(['expires_at', 'id'])
    .where(sql.ref('revoked_at'), 'is', null)
    .execute();

  // Former secrets that are not erased yet.
  await db.schema
    .createIndex('credentials_former')
    .on('credentials')
    .columns(['revoked_at'])
    .where(sql.ref('secret'), 'is not', null)
    .where(sql.ref('revoked_at'), 'is not', null)
    .execute();

  await addColumns('inventory_items', { name_key: "text not null default ''", drift: 'text' });
  // Finds tools by name at all providers.
  await db.schema
    .createIndex('inventory_items_by_kind')
    .on('inventory_items')
    .columns(['tenant_id', 'kind', 'name_key', 'provider_id'])
    .execute();
  await addColumns('runtime_observations', { name_key: "text not null default ''", drift: 'text' });
  await addColumns('manifest_declarations', { name_key: "text not null default ''" });
  await keyNames(db);
  await db.schema
    .createIndex('manifest_declarations_by_key')
    .on('manifest_declarations')
    .columns(['tenant_id', 'provider_key', 'kind', 'name_key'])
    .execute();

  await addColumns('tenants', { observation_count: 'integer not null default 0' });
  await sql`
    update tenants set observation_count =
      (select count(*) from runtime_observations where runtime_observations.tenant_id = tenants.id)`.execute(db);

  await db.schema
    .createTable('provider_uses')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('provider_id', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('first_used_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('provider_uses_key', ['tenant_id', 'provider_id', 'account'])
    .addForeignKeyConstraint('provider_uses_of_provider', ['tenant_id', 'provider_id'], 'providers', [
      'tenant_id',
      'id',
    ])
    .execute();

  await addColumns('recommendations', { dismissal: 'text', former: 'text', undone_at: 'text' });
  await addColumns('operator_tasks', {
    lease_expires_at: 'text',
    progress: 'text',
    outcome: 'text',
    note: 'text',
  });
  await db.schema
    .createIndex('recommendations_dismissed')
    .on('recommendations')
    .columns(['tenant_id', 'provider_id', 'kind', 'subject', 'created_at desc', 'id desc'])
    .where(sql.ref('dismissal'), 'is not', null)
    .execute();
  // All tasks about a subject. The other index only contains unfinished ones.
  await db.schema
    .createIndex('operator_tasks_by_subject')
    .on('operator_tasks')
    .columns(['tenant_id', 'kind', 'subject_type', 'subject_id', 'id'])
    .execute();
  await db.schema
    .createIndex('operator_tasks_rotations')
    .on('operator_tasks')
    .columns(['kind', 'tenant_id', 'subject_id'])
    .where(sql.ref('kind'), '=', 'rotate_credential')
    .where(sql.ref('subject_type'), '=', 'credential')
    .where(sql.ref('status'), 'in', ['open', 'claimed', 'running'])
    .execute();
  await addColumns('gateway_sessions', { revoked_reason: 'text' });
  await addColumns('memberships', { accepted_at: 'text' });
  // Existing memberships count as accepted.
  await sql`update memberships set accepted_at = created_at`.execute(db);
  await db.schema
    .createIndex('memberships_accepted')
    .on('memberships')
    .columns(['user_id'])
    .where(sql.ref('accepted_at'), 'is not', null)
    .execute();
  await addColumns('tenants', { founder_id: 'text references users (id)' });
  await db.schema
    .createIndex('tenants_by_founder')
    .unique()
    .on('tenants')
    .columns(['founder_id'])
    .where(sql.ref('founder_id'), 'is not', null)
    .execute();

  async function addColumns(table: string, columns: Record<string, string>): Promise<void> {
    for (const [column, type] of Object.entries(columns)) {
      await sql`alter table ${sql.table(table)} add column ${sql.ref(column)} ${sql.raw(type)}`.execute(db);
    }
  }
}

/**
 * Fills the name keys that all variants of a name share, and merges rows that only differ in spelling. No block and no review is
 * lost.
 *
 * - Of inventory items the most restrictive one stays: blocked before retired before the others, then the oldest.
 * - Of observations at one place the last reviewed one stays, with the counts of all of them.
 * - The subjects of recommendations become keys. The first release only created recommendations to register items. One is
 *   superseded if its item exists, if all of its observations were decided otherwise, or if an older one has the same key.
 *
 * Keys are computed in JavaScript, since SQL engines differ in case folding beyond ASCII.
 */
async function keyNames(db: Kysely<unknown>): Promise<void> {
  await keyDeclarations(db);
  await keyModels(db, 'inventory_items');
  await mergeVariants(db, 'inventory_items', ['tenant_id', 'provider_id', 'kind', 'name_key'], mergeItems);
  await keyModels(db, 'runtime_observations');
  const place = ['tenant_id', 'provider_id', 'kind', 'name_key', 'sub_tenant_id'];
  await mergeVariants(db, 'runtime_observations', place, mergeObservations);
  await keySubjects(db);
}

type Id = { tenant_id: string; id: string };
type Item = Id & { provider_id: string; kind: string; status: string; created_at: string };
type Observation = Id & {
  name: string;
  unknown: number;
  occurrences: number;
  first_seen_at: string;
  last_seen_at: string;
  last_trace_id: string;
  last_span_id: string;
  evidence: string;
  review: string | null;
  created_at: string;
};
/** An item or an observation, depending on the table. */
type Variant = Item & Observation;
type Evidence = Record<string, string[] | number>;

const ROWS_OF_BATCH = 500;

/** The most entries of each list in an evidence. */
const SAMPLES = 10;

const MODEL_SUBJECT = 'model:';

/** Fills the keys of declarations. They keep any prefix: modelKey without a provider. */
async function keyDeclarations(db: Kysely<unknown>): Promise<void> {
  await sql`update manifest_declarations set name_key = name`.execute(db);
  type Row = { tenant_id: string; provider_key: string; name: string; manifest_id: string };
  let after: Row = { tenant_id: '', provider_key: '', name: '', manifest_id: '' };
  for (;;) {
    const { rows } = await sql<Row>`
      select tenant_id, provider_key, name, manifest_id from manifest_declarations
      where kind = 'model' and (tenant_id, provider_key, name, manifest_id) >
        (${after.tenant_id}, ${after.provider_key}, ${after.name}, ${after.manifest_id})
      order by tenant_id, provider_key, name, manifest_id limit ${ROWS_OF_BATCH}`.execute(db);
    for (const row of rows) {
      await sql`
        update manifest_declarations set name_key = ${modelKey(row.name, null)}
        where tenant_id = ${row.tenant_id} and provider_key = ${row.provider_key} and kind = 'model'
          and name = ${row.name} and manifest_id = ${row.manifest_id}`.execute(db);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_OF_BATCH) return;
    after = last;
  }
}

async function keyModels(db: Kysely<unknown>, table: string): Promise<void> {
  await sql`update ${sql.table(table)} set name_key = name`.execute(db);
  const named = (after: Id) => sql<Id & { name: string; provider_name: string }>`
    select named.tenant_id, named.id, named.name, provider.name as provider_name from ${sql.table(table)} as named
    inner join providers as provider on provider.tenant_id = named.tenant_id and provider.id = named.provider_id
    where named.kind = 'model' and (named.tenant_id, named.id) > (${after.tenant_id}, ${after.id})
    order by named.tenant_id, named.id limit ${ROWS_OF_BATCH}`;
  for await (const row of allRows(db, named)) {
    await sql`
      update ${sql.table(table)} set name_key = ${modelKey(row.name, row.provider_name)}
      where tenant_id = ${row.tenant_id} and id = ${row.id}`.execute(db);
  }
}

/** Merges rows that share a key, and replaces the unique index on the name by one on the key. */
async function mergeVariants(
  db: Kysely<unknown>,
  table: string,
  key: string[],
  merge: (db: Kysely<unknown>, variants: Variant[]) => Promise<void>,
): Promise<void> {
  await db.schema.dropIndex(`${table}_by_name`).execute();
  await db.schema.createIndex(`${table}_variants`).on(table).columns(key).execute();
  const columns = sql.join(key.map((column) => sql.ref(column)));
  const shared = sql<Record<string, string>>`
    select ${columns} from ${sql.table(table)} group by ${columns} having count(*) > 1 limit ${ROWS_OF_BATCH}`;
  for (;;) {
    const { rows: keys } = await shared.execute(db);
    if (keys.length === 0) break;
    for (const values of keys) {
      const same = key.map((column) => sql`${sql.ref(column)} = ${values[column]}`);
      const { rows } = await sql<Variant>`
        select * from ${sql.table(table)} where ${sql.join(same, sql` and `)} order by created_at, id`.execute(db);
      await merge(db, rows);
    }
  }
  await db.schema.dropIndex(`${table}_variants`).execute();
  await db.schema.createIndex(`${table}_by_name_key`).unique().on(table).columns(key).execute();
}

/** @param variants the oldest first */
async function mergeItems(db: Kysely<unknown>, variants: Item[]): Promise<void> {
  const rank = ({ status }: Item) => (status === 'blocked' ? 0 : status === 'retired' ? 1 : 2);
  const [kept, ...gone] = variants.toSorted((a, b) => rank(a) - rank(b));
  if (!kept) return;
  for (const { tenant_id, id } of gone) {
    await sql`
      update runtime_observations set inventory_item_id = ${kept.id}
      where tenant_id = ${tenant_id} and provider_id = ${kept.provider_id} and kind = ${kept.kind}
        and inventory_item_id = ${id}`.execute(db);
    await sql`delete from inventory_items where tenant_id = ${tenant_id} and id = ${id}`.execute(db);
  }
}

/** @param variants the oldest first */
async function mergeObservations(db: Kysely<unknown>, variants: Observation[]): Promise<void> {
  const reviewedAt = ({ review }: Observation) =>
    review === null ? '' : (JSON.parse(review) as { reviewedAt: string }).reviewedAt;
  const byReview = (a: Observation, b: Observation) =>
    reviewedAt(a) === reviewedAt(b) ? 0 : reviewedAt(a) > reviewedAt(b) ? -1 : 1;
  // If none is reviewed, a known observation is preferred: a name that is declared in one spelling is declared in all.
  const [kept, ...gone] = variants.toSorted((a, b) => byReview(a, b) || a.unknown - b.unknown);
  const [last] = variants.toSorted((a, b) => (a.last_seen_at > b.last_seen_at ? -1 : 1));
  const [first] = variants.map((one) => one.first_seen_at).toSorted();
  if (!kept || !last) return;
  const now = new Date().toISOString();
  for (const { tenant_id, id } of gone) {
    await sql`
      insert into recommendation_observations (tenant_id, recommendation_id, observation_id)
      select tenant_id, recommendation_id, ${kept.id} from recommendation_observations
      where tenant_id = ${tenant_id} and observation_id = ${id}
      on conflict do nothing`.execute(db);
    await sql`
      delete from recommendation_observations where tenant_id = ${tenant_id} and observation_id = ${id}`.execute(db);
    await sql`
      update operator_tasks set status = 'cancelled', completed_at = ${now}, updated_at = ${now}
      where tenant_id = ${tenant_id} and kind = 'review_observation' and subject_type = 'runtime_observation'
        and subject_id = ${id} and status in ('open', 'claimed', 'running')`.execute(db);
    await sql`delete from runtime_observations where tenant_id = ${tenant_id} and id = ${id}`.execute(db);
  }
  await sql`
    update runtime_observations set
      occurrences = ${variants.reduce((sum, { occurrences }) => sum + occurrences, 0)},
      first_seen_at = ${first}, last_seen_at = ${last.last_seen_at},
      last_trace_id = ${last.last_trace_id}, last_span_id = ${last.last_span_id},
      evidence = ${JSON.stringify(mergedEvidence([kept, ...gone]))}
    where tenant_id = ${kept.tenant_id} and id = ${kept.id}`.execute(db);
}

function mergedEvidence(variants: readonly Observation[]): Evidence {
  const merged: Evidence = { names: variants.map(({ name }) => name).slice(0, SAMPLES) };
  for (const { evidence } of variants) {
    for (const [member, value] of Object.entries(JSON.parse(evidence) as Evidence)) {
      const known = merged[member];
      if (typeof value === 'number') merged[member] = (typeof known === 'number' ? known : 0) + value;
      else merged[member] = [...new Set([...(Array.isArray(known) ? known : []), ...value])].slice(0, SAMPLES);
    }
  }
  return merged;
}

async function keySubjects(db: Kysely<unknown>): Promise<void> {
  // Recreated below. In between, several open recommendations may have the same key.
  await db.schema.dropIndex('recommendations_open').execute();
  const about = (after: Id) => sql<Id & { subject: string; provider_name: string }>`
    select made.tenant_id, made.id, made.subject, provider.name as provider_name from recommendations as made
    inner join providers as provider on provider.tenant_id = made.tenant_id and provider.id = made.provider_id
    where made.subject like ${`${MODEL_SUBJECT}%`} and (made.tenant_id, made.id) > (${after.tenant_id}, ${after.id})
    order by made.tenant_id, made.id limit ${ROWS_OF_BATCH}`;
  for await (const { tenant_id, id, subject, provider_name } of allRows(db, about)) {
    const key = modelKey(subject.slice(MODEL_SUBJECT.length), provider_name);
    await sql`
      update recommendations set subject = ${MODEL_SUBJECT + key}
      where tenant_id = ${tenant_id} and id = ${id}`.execute(db);
  }
  const open = sql`status = 'open' and kind = 'register_item' and subject like ${`${MODEL_SUBJECT}%`}`;
  await sql`
    update recommendations set status = 'superseded' where ${open} and exists (
      select 1 from inventory_items as item
      where item.tenant_id = recommendations.tenant_id and item.provider_id = recommendations.provider_id
        and item.kind = 'model' and item.name_key = substr(recommendations.subject, ${MODEL_SUBJECT.length + 1})
        and not (item.status = 'retired' and recommendations.change like '%"id":"' || item.id || '"%'))`.execute(db);
  await sql`
    update recommendations set status = 'superseded' where ${open} and not exists (
      select 1 from recommendation_observations as link
      inner join runtime_observations as observation
        on observation.tenant_id = link.tenant_id and observation.id = link.observation_id
      where link.tenant_id = recommendations.tenant_id and link.recommendation_id = recommendations.id
        and observation.status in ('open', 'approved'))`.execute(db);
  await sql`
    insert into recommendation_observations (tenant_id, recommendation_id, observation_id)
    select oldest.tenant_id, oldest.id, link.observation_id from (
      select tenant_id, provider_id, kind, subject, min(id) as id from recommendations where status = 'open'
      group by tenant_id, provider_id, kind, subject having count(*) > 1) as oldest
    inner join recommendations as twin
      on twin.tenant_id = oldest.tenant_id and twin.provider_id = oldest.provider_id and twin.kind = oldest.kind
      and twin.subject = oldest.subject and twin.status = 'open'
    inner join recommendation_observations as link
      on link.tenant_id = twin.tenant_id and link.recommendation_id = twin.id
    where true on conflict do nothing`.execute(db);
  await sql`
    update recommendations set status = 'superseded' where status = 'open' and (tenant_id, id) not in (
      select tenant_id, min(id) from recommendations where status = 'open'
      group by tenant_id, provider_id, kind, subject)`.execute(db);
  await db.schema
    .createIndex('recommendations_open')
    .unique()
    .on('recommendations')
    .columns(['tenant_id', 'provider_id', 'kind', 'subject'])
    .where(sql.ref('status'), '=', 'open')
    .execute();
}

/** All rows of a query that is paged by id. */
async function* allRows<Row extends Id>(
  db: Kysely<unknown>,
  query: (after: Id) => RawBuilder<Row>,
): AsyncGenerator<Row> {
  let after: Id = { tenant_id: '', id: '' };
  for (;;) {
    const { rows } = await query(after).execute(db);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_OF_BATCH) return;
    after = last;
  }
}

/** The prefixes that routers write before a model's name if the provider has another name. */
const ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ['aws.bedrock', ['bedrock', 'aws']],
  ['azure.ai.inference', ['azure_ai', 'azure']],
  ['azure.ai.openai', ['azure', 'azure_openai']],
  ['gcp.gemini', ['gemini', 'google', 'models']],
  ['gcp.gen_ai', ['gemini', 'google', 'models']],
  ['gcp.vertex_ai', ['vertex_ai', 'vertexai', 'google']],
  ['ibm.watsonx.ai', ['watsonx']],
  ['mistral_ai', ['mistral', 'mistralai']],
  ['moonshot_ai', ['moonshot', 'moonshotai']],
  ['x_ai', ['xai', 'x-ai']],
]);

/** A copy of the rule in name-key.ts as of this migration. That rule may change; this copy may not. */
function modelKey(name: string, providerName: string | null): string {
  const provider = providerName === null ? null : folded(providerName);
  const prefixes = provider === null ? [] : [provider, ...(ALIASES.get(provider) ?? [])];
  let key = folded(name);
  for (;;) {
    const prefix = prefixes.find((one) => key.length > one.length + 1 && key.startsWith(`${one}/`));
    if (prefix === undefined) return key;
    key = key.slice(prefix.length + 1);
  }
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
