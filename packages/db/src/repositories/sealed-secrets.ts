import type { Database } from '../database.ts';

/** A sealed secret, with the members that its encryption is bound to. */
export type SealedRecord = {
  tenantId: string;
  id: string;
  kind: 'provider_secret' | 'signing_key';
  ownerId: string | null;
  header: string | null;
  scheme: string | null;
  boundUrl: string | null;
  sealed: string;
};

// The key that seals secrets is changed for the whole service, so these functions take no scope.

type SecretPage = { after: Pick<SealedRecord, 'tenantId' | 'id'> | null; limit: number };

/** A batch of all stored secrets, in the order of their tenants and ids. */
export async function listSealedSecrets(db: Database, { after, limit }: SecretPage): Promise<SealedRecord[]> {
  let query = db
    .selectFrom('credentials')
    .select(['tenant_id', 'id', 'kind', 'owner_id', 'header', 'scheme', 'bound_url', 'secret'])
    .where('secret', 'is not', null);
  if (after !== null) {
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('tenant_id', 'id'), '>', tuple(after.tenantId, after.id)),
    );
  }
  const rows = await query.orderBy('tenant_id').orderBy('id').limit(limit).execute();
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    id: row.id,
    kind: row.kind as SealedRecord['kind'],
    ownerId: row.owner_id,
    header: row.header,
    scheme: row.scheme,
    boundUrl: row.bound_url,
    sealed: row.secret ?? '',
  }));
}

/** Replaces a sealed secret, unless it has changed in the meantime. */
export async function replaceSealedSecret(
  db: Database,
  record: Pick<SealedRecord, 'tenantId' | 'id' | 'sealed'>,
  resealed: string,
): Promise<void> {
  await db
    .updateTable('credentials')
    .set({ secret: resealed })
    .where('tenant_id', '=', record.tenantId)
    .where('id', '=', record.id)
    .where('secret', '=', record.sealed)
    .execute();
}
