import { addTimes, indexesOn, required, type Schema } from './schema.ts';

/** Users, how they sign in, and their sessions in the web console. They belong to no tenant. */
export async function createUserTables(db: Schema): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', required)
    .addColumn('email', 'text')
    // Case folding happens in JavaScript, because SQL engines fold differently. Null for deleted users, so that the
    // email can be registered again.
    .addColumn('email_key', 'text', (column) => column.unique())
    .addColumn('display_name', 'text')
    .addColumn('name_key', 'text')
    .addColumn('status', 'text', required)
    .addColumn('platform_administrator', 'integer', required)
    .addColumn('terms', 'text', required)
    .addColumn('terms_accepted', 'integer', required)
    .addColumn('marketing_consent', 'text', required)
    .addColumn('source', 'text')
    .addColumn('locale', 'text')
    .addColumn('time_zone', 'text')
    .addColumn('metadata', 'text', required)
    .addColumn('last_seen_at', 'text')
    .$call(addTimes)
    // Survives the erasure of the user: a production start refuses users of the development identity provider.
    .addColumn('development_issuer', 'text')
    .addColumn('administrator_granted_by', 'text')
    .addColumn('administrator_granted_by_key', 'text')
    .addColumn('administrator_granted_at', 'text')
    .addColumn('relink_until', 'text')
    .addColumn('relink_allowed_by', 'text')
    .addColumn('relink_allowed_by_key', 'text')
    .addPrimaryKeyConstraint('users_key', ['id'])
    .execute();
  const users = indexesOn(db, 'users');
  await users('users_by_time', ['created_at desc', 'id desc']);
  await users('users_of_development', ['created_at', 'id'], { where: 'development_issuer is not null' });
  // Only platform administrators have them, and those are few.
  await users('users_by_administrator', ['id'], { where: 'administrator_granted_at is not null' });

  await db.schema
    .createTable('identities')
    .addColumn('issuer', 'text', required)
    .addColumn('subject', 'text', required)
    .addColumn('user_id', 'text', (column) => column.notNull().unique().references('users.id'))
    .addColumn('created_at', 'text', required)
    .addPrimaryKeyConstraint('identities_key', ['issuer', 'subject'])
    .execute();

  await db.schema
    .createTable('console_sessions')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('token_digest', 'text', (column) => column.notNull().unique())
    .addColumn('issuer', 'text', required)
    .addColumn('platform_administrator', 'integer', required)
    .addColumn('user_agent', 'text', required)
    .addColumn('id_token', 'text')
    .addColumn('created_at', 'text', required)
    .addColumn('last_used_at', 'text', required)
    .addColumn('expires_at', 'text', required)
    // With the claim, a session stops making its user an administrator once another claim is configured.
    .addColumn('administrator_claim', 'text')
    .execute();
  const sessions = indexesOn(db, 'console_sessions');
  await sessions('console_sessions_by_user', ['user_id', 'created_at', 'id']);
  await sessions('console_sessions_by_expiry', ['expires_at']);
}
