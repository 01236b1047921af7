import {
  addListIndexes,
  addPlace,
  addProviderReference,
  addTimes,
  indexesOn,
  required,
  type Schema,
  withDefault,
} from './schema.ts';

/** What agents were observed to use, and what is recommended because of it. */
export async function createObservationTables(db: Schema): Promise<void> {
  await createObservations(db);
  await createRecommendations(db);
}

async function createObservations(db: Schema): Promise<void> {
  await db.schema
    .createTable('runtime_observations')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('unknown', 'integer', required)
    .addColumn('status', 'text', required)
    .addColumn('occurrences', 'integer', required)
    .addColumn('first_seen_at', 'text', required)
    .addColumn('last_seen_at', 'text', required)
    .addColumn('last_trace_id', 'text', required)
    .addColumn('last_span_id', 'text', required)
    .addColumn('evidence', 'text', required)
    .addColumn('risk', 'text', required)
    .addColumn('inventory_item_id', 'text')
    .addColumn('review', 'text')
    .$call(addTimes)
    .addColumn('name_key', 'text', withDefault(''))
    .addColumn('drift', 'text')
    .addColumn('name_family', 'text', withDefault(''))
    // The account that reported it first, because each account has a share of the tenant's limit of observations.
    .addColumn('first_account', 'text', withDefault(''))
    .addColumn('environments', 'text', withDefault('[]'))
    .addColumn('denials', 'integer', withDefault(0))
    .addColumn('last_denied_at', 'text')
    .addPrimaryKeyConstraint('runtime_observations_key', ['tenant_id', 'id'])
    .$call(addProviderReference('runtime_observations_of_provider'))
    .execute();
  await addListIndexes(db, 'runtime_observations');
  const index = indexesOn(db, 'runtime_observations');
  await index('runtime_observations_by_provider', ['tenant_id', 'provider_id', 'created_at desc', 'id desc']);
  await index('runtime_observations_by_name_key', ['tenant_id', 'provider_id', 'kind', 'name_key', 'sub_tenant_id'], {
    unique: true,
  });
  // Counts the open observations of an account that were only denied.
  await index('runtime_observations_denied', ['tenant_id', 'first_account'], {
    where: `denials > 0 and occurrences = 0 and status = 'open'`,
  });
  // Finds the observations that a changed declaration may cover.
  await index('runtime_observations_by_family', ['tenant_id', 'provider_id', 'kind', 'name_family']);

  // What each account reported of an observation, so that the corrections of an account take back only its own calls.
  await db.schema
    .createTable('observation_accounts')
    .addColumn('tenant_id', 'text', required)
    .addColumn('observation_id', 'text', required)
    .addColumn('account', 'text', required)
    .addColumn('occurrences', 'integer', required)
    .addColumn('errors', 'integer', required)
    .addPrimaryKeyConstraint('observation_accounts_pk', ['tenant_id', 'observation_id', 'account'])
    .addForeignKeyConstraint(
      'observation_accounts_of_observation',
      ['tenant_id', 'observation_id'],
      'runtime_observations',
      ['tenant_id', 'id'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();

  // What gateways denied, or would have denied, by observation, gateway and account.
  await db.schema
    .createTable('observation_denials')
    .addColumn('tenant_id', 'text', required)
    .addColumn('observation_id', 'text', required)
    .addColumn('gateway_id', 'text', required)
    .addColumn('account', 'text', required)
    .addColumn('denials', 'integer', required)
    .addColumn('reason', 'text', required)
    .addColumn('last_session_id', 'text', required)
    .addColumn('last_denied_at', 'text', required)
    .addPrimaryKeyConstraint('observation_denials_pk', ['tenant_id', 'observation_id', 'gateway_id', 'account'])
    .addForeignKeyConstraint(
      'observation_denials_of_observation',
      ['tenant_id', 'observation_id'],
      'runtime_observations',
      ['tenant_id', 'id'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
  await indexesOn(db, 'observation_denials')('observation_denials_by_gateway', [
    'tenant_id',
    'gateway_id',
    'last_denied_at',
  ]);

  // The shares of accounts and sub-tenants in the tenant's limit of observations.
  await db.schema
    .createTable('observation_shares')
    .addColumn('tenant_id', 'text', required)
    .addColumn('holder_type', 'text', required)
    .addColumn('holder_id', 'text', required)
    .addColumn('observations', 'integer', required)
    .addPrimaryKeyConstraint('observation_shares_pk', ['tenant_id', 'holder_type', 'holder_id'])
    .execute();
}

async function createRecommendations(db: Schema): Promise<void> {
  await db.schema
    .createTable('recommendations')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('provider_id', 'text', required)
    .addColumn('kind', 'text', required)
    .addColumn('status', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('reason', 'text', required)
    .addColumn('change', 'text', required)
    .addColumn('applied_by', 'text')
    .addColumn('applied_at', 'text')
    .addColumn('apply_id', 'text')
    .addColumn('apply_order', 'integer')
    .$call(addTimes)
    .addColumn('dismissal', 'text')
    .addColumn('former', 'text')
    .addColumn('undone_at', 'text')
    .addColumn('items_before', 'text')
    // Stored, so that an index finds the applicable recommendations, however many others are open. A recommendation to
    // adopt a provider always counts as applicable, since a provider has at most one.
    .addColumn('is_applicable', 'integer', withDefault(0))
    .addPrimaryKeyConstraint('recommendations_key', ['tenant_id', 'id'])
    .$call(addProviderReference('recommendations_of_provider'))
    .execute();
  await addListIndexes(db, 'recommendations');
  const index = indexesOn(db, 'recommendations');
  await index('recommendations_by_provider', ['tenant_id', 'provider_id', 'created_at desc', 'id desc']);
  // At most one recommendation is open for a subject.
  await index('recommendations_open', ['tenant_id', 'provider_id', 'kind', 'subject'], {
    unique: true,
    where: `status = 'open'`,
  });
  await index('recommendations_open_by_subject', ['tenant_id', 'provider_id', 'subject'], {
    where: `status = 'open'`,
  });
  // Finds everything that one undo takes back.
  await index('recommendations_by_apply', ['apply_id'], { where: 'apply_id is not null' });
  await index('recommendations_to_apply', ['tenant_id', 'provider_id', 'is_applicable', 'created_at', 'id'], {
    where: `status = 'open'`,
  });
  // Finds the last dismissal of a subject, so that it is not recommended again.
  await index(
    'recommendations_dismissed',
    ['tenant_id', 'provider_id', 'kind', 'subject', 'created_at desc', 'id desc'],
    { where: 'dismissal is not null' },
  );
  // Finds the recommendations whose retention time is over.
  await index('recommendations_closed', ['tenant_id', 'updated_at'], { where: `status <> 'open'` });

  await db.schema
    .createTable('recommendation_observations')
    .addColumn('tenant_id', 'text', required)
    .addColumn('recommendation_id', 'text', required)
    .addColumn('observation_id', 'text', required)
    .addPrimaryKeyConstraint('recommendation_observations_key', ['tenant_id', 'recommendation_id', 'observation_id'])
    .addForeignKeyConstraint(
      'recommendation_observations_of_recommendation',
      ['tenant_id', 'recommendation_id'],
      'recommendations',
      ['tenant_id', 'id'],
    )
    .addForeignKeyConstraint(
      'recommendation_observations_of_observation',
      ['tenant_id', 'observation_id'],
      'runtime_observations',
      ['tenant_id', 'id'],
    )
    .execute();
  // It ends with the column that it finds. Without that, SQLite prefers the primary key, which has all columns, and reads all
  // links of the tenant.
  const links = indexesOn(db, 'recommendation_observations');
  await links('recommendation_observations_by_observation', ['tenant_id', 'observation_id', 'recommendation_id']);
}
