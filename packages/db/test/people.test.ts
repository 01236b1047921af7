import { beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../src/database.ts';
import { DuplicateKeyError } from '../src/errors.ts';
import type { Page, PageKey, PageRequest } from '../src/queries.ts';
import { hasFoundedTenant, listFounderMarks, markFounder } from '../src/repositories/founders.ts';
import { findAccountByIdentity, hasIdentity, insertIdentity } from '../src/repositories/identities.ts';
import {
  acceptMembership,
  deleteMembershipsOfUser,
  findMembership,
  findTenantOwnedOnlyBy,
  insertMembership,
  listAcceptedMemberships,
  listMemberships,
  listMembershipsInTenant,
} from '../src/repositories/memberships.ts';
import { findTenant, insertTenant, listTenants, updateTenant } from '../src/repositories/tenants.ts';
import {
  deleteUnclaimedUsers,
  discardRegistration,
  eraseUser,
  findAccount,
  findAccountByEmail,
  findUser,
  insertUser,
  listUsers,
  type NewUser,
  NO_MARKETING,
  TERMS_NOT_ACCEPTED,
  updateUser,
} from '../src/repositories/users.ts';
import { EVERYWHERE, type TenantPlace, type TenantScope } from '../src/tenancy.ts';
import { NOW, temporaryDatabase } from './temporary-database.ts';

const ACME: TenantScope = [{ tenantId: 'acme', subTenantId: null }];
const ACME_EAST: TenantScope = [{ tenantId: 'acme', subTenantId: 'east' }];
const NO_USER = null;

let db: Database;

beforeEach(async () => {
  db = await temporaryDatabase(
    { tenantId: 'acme', subTenantId: 'east' },
    { tenantId: 'acme', subTenantId: 'west' },
    { tenantId: 'other', subTenantId: 'east' },
  );
});

async function user(email: string, values: Partial<NewUser> = {}, now = NOW): Promise<string> {
  const account = await insertUser(
    db,
    {
      email,
      displayName: null,
      status: 'pending_terms',
      platformAdministrator: false,
      terms: TERMS_NOT_ACCEPTED,
      marketingConsent: NO_MARKETING,
      source: null,
      metadata: {},
      ...values,
    },
    now,
  );
  if (!account) throw new Error(`${email} is taken`);
  return account.id;
}

async function member(userId: string, place: string, role: 'owner' | 'viewer' = 'viewer'): Promise<void> {
  const membership = { userId, email: 'as@invited.example', role, acceptedAt: NOW.toISOString() };
  await insertMembership(db, placeOf(place), membership, NOW);
}

/** A pending membership. */
async function offer(userId: string, place: string, role: 'owner' | 'viewer' = 'viewer', now = NOW): Promise<void> {
  await insertMembership(db, placeOf(place), { userId, email: 'as@invited.example', role, acceptedAt: null }, now);
}

function placeOf(text: string): TenantPlace {
  const [tenantId = '', subTenantId = null] = text.split('/');
  return { tenantId, subTenantId };
}

/** All items, read in pages of `limit`. */
async function all<Item>(list: (page: PageRequest) => Promise<Page<Item>>, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  let after: PageKey | null = null;
  do {
    const page: Page<Item> = await list({ limit, after });
    items.push(...page.items);
    after = page.next;
  } while (after !== null);
  return items;
}

describe('users', () => {
  test('emails are unique case-insensitively, and a second insert does not change the first user', async () => {
    const id = await user('Ada@Example.com', { displayName: 'Ada' });
    await expect(user('ada@example.COM', { displayName: 'Eve' })).rejects.toThrow('taken');
    expect(await findAccountByEmail(db, 'ADA@EXAMPLE.COM')).toMatchObject({ id });
    expect(await findUser(db, { scope: EVERYWHERE, self: null }, id)).toMatchObject({
      email: 'Ada@Example.com',
      displayName: 'Ada',
    });
  });

  test('only ASCII letters are case-folded: a Unicode look-alike is another email', async () => {
    await user('mike@example.com');
    expect(await findAccountByEmail(db, 'mi\u212ae@example.com')).toBeUndefined();
    expect(await findAccountByEmail(db, '\uff4dike@example.com')).toBeUndefined();
  });

  test('are visible through memberships in scope, to themselves, and in the scope of everywhere', async () => {
    const [ada, bob, eve] = [await user('ada@x.example'), await user('bob@x.example'), await user('eve@x.example')];
    await member(ada, 'acme/east');
    await member(ada, 'other');
    await member(bob, 'acme');
    const seen = async (scope: TenantScope, self: string | null = NO_USER) => {
      const found = [];
      for (const id of [ada, bob, eve]) if (await findUser(db, { scope, self }, id)) found.push(id);
      return found;
    };
    expect(await seen(ACME)).toEqual([ada, bob]);
    expect(await seen(ACME_EAST)).toEqual([ada]);
    expect(await seen([{ tenantId: 'acme', subTenantId: 'west' }])).toEqual([]);
    expect(await seen([])).toEqual([]);
    expect(await seen([], eve)).toEqual([eve]);
    expect(await seen(EVERYWHERE)).toEqual([ada, bob, eve]);
    expect(await seen([{ tenantId: null, subTenantId: 'east' }])).toEqual([ada]);
  });

  test('show memberships in scope, and all memberships to the user', async () => {
    const ada = await user('ada@x.example');
    for (const place of ['acme/west', 'acme', 'other/east']) await member(ada, place);
    const places = async (scope: TenantScope, self: string | null = NO_USER) =>
      (await findUser(db, { scope, self }, ada))?.memberships.map((held) => `${held.tenantId}/${held.subTenantId}`);
    expect(await places(ACME)).toEqual(['acme/null', 'acme/west']);
    expect(await places([{ tenantId: 'acme', subTenantId: 'west' }])).toEqual(['acme/west']);
    expect(await places([], ada)).toEqual(['acme/null', 'acme/west', 'other/east']);
    const { items } = await listUsers(db, ACME, { scope: ACME, self: ada }, {}, { limit: 5, after: null });
    expect(items.map((item) => item.memberships.length)).toEqual([3]);
  });

  test('are not visible through pending memberships', async () => {
    const [ada, bob] = [await user('ada@x.example'), await user('bob@x.example')];
    await offer(ada, 'acme');
    await member(bob, 'acme');
    await offer(bob, 'acme/east');
    const view = { scope: ACME, self: NO_USER };
    const page = { limit: 9, after: null };
    expect(await findUser(db, view, ada)).toBeUndefined();
    const listed = await listUsers(db, ACME, view, {}, page);
    expect(listed.items.map(({ id }) => id)).toEqual([bob]);
    expect((await listUsers(db, ACME_EAST, { scope: ACME_EAST, self: NO_USER }, {}, page)).items).toEqual([]);
    const offered = await findMembership(db, ACME, placeOf('acme'), ada);
    if (!offered) throw new Error('the membership is missing');
    await acceptMembership(db, ACME, offered, NOW);
    expect(await findUser(db, view, ada)).toMatchObject({ memberships: [{ tenantId: 'acme', status: 'active' }] });
  });

  test('show accepted memberships, and the newest hundred pending ones', async () => {
    const ada = await user('ada@x.example');
    await member(ada, 'acme');
    for (let index = 0; index < 102; index += 1) {
      const subTenantId = `sub-${index}`;
      await db
        .insertInto('sub_tenants')
        .values({ tenant_id: 'acme', id: subTenantId, created_at: NOW.toISOString() })
        .execute();
      await offer(ada, `acme/${subTenantId}`, 'viewer', new Date(NOW.getTime() + index));
    }
    const memberships = (await findUser(db, { scope: [], self: ada }, ada))?.memberships ?? [];
    expect(memberships.filter(({ status }) => status === 'active')).toHaveLength(1);
    const pending = memberships.filter(({ status }) => status === 'pending').map(({ subTenantId }) => subTenantId);
    expect(pending).toHaveLength(100);
    for (const oldest of ['sub-0', 'sub-1']) expect(pending).not.toContain(oldest);
  });

  test('data of a registration are cleared once, and data from the user are kept', async () => {
    const terms = { termsVersion: '1', privacyVersion: '2', accepted: true, acceptedAt: null };
    const marketingConsent = { optedIn: true, consentVersion: '3', changedAt: null };
    const registered = { displayName: 'Ada', terms, marketingConsent, metadata: { a: 1 } };
    const ada = await user('ada@x.example', registered);
    const seen = async (id: string) => findUser(db, { scope: [], self: id }, id);
    expect(await seen(ada)).toMatchObject({
      terms: { ...terms, accepted: false },
      marketingConsent: { ...marketingConsent, optedIn: false },
    });
    expect(await findAccount(db, ada)).toMatchObject({ termsAccepted: true });
    const later = new Date(NOW.getTime() + 1000);
    const fields = ['displayName', 'terms', 'marketingConsent', 'metadata'];
    expect(await discardRegistration(db, ada, later)).toEqual(fields);
    const cleared = { displayName: null, terms: TERMS_NOT_ACCEPTED, marketingConsent: NO_MARKETING, metadata: {} };
    expect(await seen(ada)).toMatchObject({ ...cleared, updatedAt: later.toISOString() });
    expect(await findAccount(db, ada)).toMatchObject({ termsAccepted: false });
    expect(await discardRegistration(db, ada, new Date(NOW.getTime() + 2000))).toEqual([]);
    expect((await seen(ada))?.updatedAt).toBe(later.toISOString());

    const accepted = { ...registered, terms: { ...terms, acceptedAt: NOW.toISOString() } };
    const bob = await user('bob@x.example', accepted);
    expect(await discardRegistration(db, bob, later)).toEqual([]);
    expect(await seen(bob)).toMatchObject({ displayName: 'Ada', terms: accepted.terms, metadata: { a: 1 } });
  });

  test('are listed once each, completely, with any page size and filter', async () => {
    const ids = [];
    for (let index = 0; index < 7; index += 1) {
      const id = await user(`u${index}@x.example`, {}, new Date(NOW.getTime() + Math.floor(index / 3)));
      await member(id, 'acme');
      await member(id, 'acme/east');
      ids.push(id);
    }
    await member(await user('stranger@x.example'), 'other');
    const view = { scope: ACME, self: null };
    for (const limit of [1, 2, 3, 7, 50]) {
      const items = await all((page) => listUsers(db, ACME, view, {}, page), limit);
      expect(new Set(items.map((item) => item.id))).toEqual(new Set(ids));
      expect(items.map((item) => item.createdAt)).toEqual(
        items
          .map((item) => item.createdAt)
          .toSorted()
          .toReversed(),
      );
      expect(items).toHaveLength(7);
    }
    const find = async (filter: object) => (await all((page) => listUsers(db, ACME, view, filter, page), 9)).length;
    expect(await find({ email: 'U3@X.example' })).toBe(1);
    expect(await find({ email: 'stranger@x.example' })).toBe(0);
    expect(await find({ status: 'pending_terms' })).toBe(7);
    expect(await find({ status: 'nonsense' })).toBe(0);
    expect(await find({ text: '3@X' })).toBe(1);
    expect(await find({ text: '_@x' })).toBe(0);
    expect(await find({ text: 'stranger' })).toBe(0);
  });

  test('are found by a part of the name that they have now, in any case and with wildcards as plain text', async () => {
    const id = await user('ö@x.example', { displayName: 'Özgür 100%' });
    await user('other@x.example', { displayName: null });
    const find = async (text: string) =>
      (await listUsers(db, EVERYWHERE, { scope: EVERYWHERE, self: null }, { text }, { limit: 9, after: null })).items;
    for (const text of ['özgÜR', '100%', 'r 1']) expect(await find(text), text).toMatchObject([{ id }]);
    for (const text of ['r_1', '1%0', '\\']) expect(await find(text), text).toEqual([]);
    await updateUser(db, id, { displayName: 'Deniz' }, NOW);
    expect(await find('özg')).toEqual([]);
    expect(await find('DENIZ')).toMatchObject([{ id }]);
  });

  test('leave a tombstone without personal data when they are erased, and free their email', async () => {
    const id = await user('zelda@x.example', {
      displayName: 'Zelda Quill',
      source: 'zelda-source',
      metadata: { nick: 'zelda' },
      platformAdministrator: true,
      terms: { ...TERMS_NOT_ACCEPTED, termsVersion: 'zelda-1', accepted: true },
      marketingConsent: { ...NO_MARKETING, consentVersion: 'zelda-2' },
    });
    await updateUser(db, id, { locale: 'en-GB', timeZone: 'Europe/London' }, NOW);
    const later = new Date(NOW.getTime() + 1000);
    const tombstone = await eraseUser(db, id, later);
    expect(tombstone).toMatchObject({ id, status: 'deleted', email: null, updatedAt: later.toISOString() });
    const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(JSON.stringify(row)).not.toMatch(/zelda|quill|en-GB|London/i);
    expect(row).toMatchObject({ platform_administrator: 0, terms_accepted: 0, email_key: null });
    expect(await findUser(db, { scope: EVERYWHERE, self: id }, id)).toBeUndefined();
    expect(await eraseUser(db, id, later)).toBeUndefined();
    expect(await user('zelda@x.example')).not.toBe(id);
    const listed = async (filter: object) =>
      (await listUsers(db, EVERYWHERE, { scope: EVERYWHERE, self: null }, filter, { limit: 9, after: null })).items;
    expect((await listed({})).map((item) => item.status)).toEqual(['pending_terms']);
    expect((await listed({ status: 'deleted' })).map((item) => item.id)).toEqual([id]);
  });

  test('are deleted in batches if they never signed in and have no membership; others are kept', async () => {
    const cutoff = NOW.toISOString();
    const old = new Date(NOW.getTime() - 1);
    const gone = [await user('a@x.example', {}, old), await user('b@x.example', { status: 'pending_identity' }, old)];
    await user('recent@x.example', {}, NOW);
    await user('root@x.example', { platformAdministrator: true }, old);
    await user('disabled@x.example', { status: 'disabled' }, old);
    await user('active@x.example', { status: 'active' }, old);
    await member(await user('invited@x.example', {}, old), 'acme');
    const signedIn = await user('seen@x.example', {}, old);
    await insertIdentity(db, { issuer: 'https://idp.example', subject: 's' }, signedIn, NOW);
    const first = await deleteUnclaimedUsers(db, cutoff, 1);
    expect(first).toHaveLength(1);
    expect(new Set([...first, ...(await deleteUnclaimedUsers(db, cutoff, 10))])).toEqual(new Set(gone));
    expect(await deleteUnclaimedUsers(db, cutoff, 10)).toEqual([]);
    expect(await db.selectFrom('users').select('id').execute()).toHaveLength(6);
  });
});

describe('identities', () => {
  const IDENTITY = { issuer: 'https://idp.example', subject: 'someone' };

  test('are found by issuer and subject, and link one identity to one user', async () => {
    const [ada, bob] = [await user('ada@x.example'), await user('bob@x.example')];
    await insertIdentity(db, IDENTITY, ada, NOW);
    expect(await findAccountByIdentity(db, IDENTITY)).toMatchObject({ id: ada, termsAccepted: false });
    expect(await findAccountByIdentity(db, { ...IDENTITY, issuer: `${IDENTITY.issuer}/` })).toBeUndefined();
    expect([await hasIdentity(db, ada), await hasIdentity(db, bob)]).toEqual([true, false]);
    await expect(insertIdentity(db, IDENTITY, bob, NOW)).rejects.toThrow(DuplicateKeyError);
    await expect(insertIdentity(db, { ...IDENTITY, subject: 'other' }, ada, NOW)).rejects.toThrow(DuplicateKeyError);
  });
});

describe('memberships', () => {
  test('are unique for each user and place, and only found there', async () => {
    const ada = await user('ada@x.example');
    await member(ada, 'acme');
    await member(ada, 'acme/east');
    await expect(member(ada, 'acme')).rejects.toThrow(DuplicateKeyError);
    const whole = { tenantId: 'acme', subTenantId: null };
    expect(await findMembership(db, ACME, whole, ada)).toMatchObject({ userId: ada, subTenantId: null });
    expect(await findMembership(db, ACME_EAST, whole, ada)).toBeUndefined();
    expect(await findMembership(db, [{ tenantId: 'other', subTenantId: null }], whole, ada)).toBeUndefined();
  });

  test('are accepted once, and listed by their status', async () => {
    const ada = await user('ada@x.example');
    await offer(ada, 'acme');
    await member(ada, 'acme/east');
    const offered = await findMembership(db, ACME, placeOf('acme'), ada);
    if (!offered) throw new Error('the membership is missing');
    const listed = async (status: string) =>
      (await listMemberships(db, ACME, { status }, { limit: 9, after: null })).items.map((one) => one.subTenantId);
    expect([await listed('pending'), await listed('active'), await listed('nonsense')]).toEqual([[null], ['east'], []]);
    const accepted = async () =>
      (await listAcceptedMemberships(db, EVERYWHERE, ada)).map(({ subTenantId }) => subTenantId);
    expect(await accepted()).toEqual(['east']);
    expect((await listMembershipsInTenant(db, EVERYWHERE, 'acme', ada)).map((one) => one.status)).toEqual([
      'pending',
      'active',
    ]);
    const later = new Date(NOW.getTime() + 1000);
    expect(await acceptMembership(db, [{ tenantId: 'other', subTenantId: null }], offered, later)).toBeUndefined();
    expect(await acceptMembership(db, ACME, offered, later)).toMatchObject({
      status: 'active',
      acceptedAt: later.toISOString(),
      updatedAt: later.toISOString(),
    });
    expect(await acceptMembership(db, ACME, offered, later)).toBeUndefined();
    expect(await accepted()).toEqual([null, 'east']);
  });

  test('are listed once each with any page size, also several of one user with the same time', async () => {
    const expected = new Set<string>();
    for (const email of ['ada@x.example', 'bob@x.example', 'eve@x.example']) {
      const id = await user(email);
      for (const place of ['acme', 'acme/east', 'acme/west', 'other']) await member(id, place);
      for (const subTenantId of ['', 'east', 'west']) expected.add(`${id}/${subTenantId}`);
    }
    for (const limit of [1, 2, 4, 9]) {
      const items = await all((page) => listMemberships(db, ACME, {}, page), limit);
      expect(items).toHaveLength(9);
      expect(new Set(items.map((item) => `${item.userId}/${item.subTenantId ?? ''}`))).toEqual(expected);
    }
    expect(await all((page) => listMemberships(db, ACME_EAST, {}, page), 2)).toHaveLength(3);
    const inSubTenants = (await all((page) => listMemberships(db, ACME, {}, page), 9)).filter((one) => one.subTenantId);
    const both: TenantScope = [...ACME_EAST, { tenantId: 'acme', subTenantId: 'west' }];
    for (const filter of [{}, { role: 'viewer' }, { status: 'active' }]) {
      for (const limit of [1, 4, 9]) {
        expect(await all((page) => listMemberships(db, both, filter, page), limit)).toEqual(inSubTenants);
      }
    }
    expect(await all((page) => listMemberships(db, ACME, { role: 'owner' }, page), 2)).toEqual([]);
  });

  test('an owner is the only one unless another active member of the whole tenant is an owner', async () => {
    const [ada, bob, eve] = [await user('ada@x.example'), await user('bob@x.example'), await user('eve@x.example')];
    for (const id of [ada, bob, eve]) await updateUser(db, id, { status: 'active' }, NOW);
    await member(ada, 'acme', 'owner');
    await member(bob, 'acme', 'viewer');
    await member(bob, 'acme/east', 'owner');
    await member(eve, 'other', 'owner');
    expect(await findTenantOwnedOnlyBy(db, EVERYWHERE, ada)).toBe('acme');
    expect(await findTenantOwnedOnlyBy(db, [{ tenantId: 'other', subTenantId: null }], ada)).toBeUndefined();
    expect(await findTenantOwnedOnlyBy(db, EVERYWHERE, bob)).toBeUndefined();
    await offer(eve, 'acme', 'owner');
    expect(await findTenantOwnedOnlyBy(db, EVERYWHERE, ada)).toBe('acme');
    const offered = await findMembership(db, ACME, placeOf('acme'), eve);
    if (!offered) throw new Error('the membership is missing');
    await acceptMembership(db, ACME, offered, NOW);
    expect(await findTenantOwnedOnlyBy(db, EVERYWHERE, ada)).toBeUndefined();
    expect(await findTenantOwnedOnlyBy(db, EVERYWHERE, eve)).toBe('other');
    await updateUser(db, eve, { status: 'disabled' }, NOW);
    expect(await findTenantOwnedOnlyBy(db, EVERYWHERE, ada)).toBe('acme');
    await updateUser(db, eve, { status: 'pending_identity' }, NOW);
    expect(await findTenantOwnedOnlyBy(db, EVERYWHERE, ada)).toBe('acme');
    await deleteMembershipsOfUser(db, eve);
    expect(await findTenantOwnedOnlyBy(db, EVERYWHERE, eve)).toBeUndefined();
  });
});

describe('tenants', () => {
  test('are visible with the sub-tenants in scope, also from one sub-tenant', async () => {
    const subTenants = async (scope: TenantScope, id = 'acme') => (await findTenant(db, scope, id))?.subTenantIds;
    expect(await subTenants(EVERYWHERE)).toEqual(['east', 'west']);
    expect(await subTenants(ACME)).toEqual(['east', 'west']);
    expect(await subTenants(ACME_EAST)).toEqual(['east']);
    expect(await subTenants(ACME, 'other')).toBeUndefined();
    expect(await subTenants([])).toBeUndefined();
    expect(await subTenants([{ tenantId: null, subTenantId: 'west' }])).toEqual(['west']);
    expect(await subTenants([{ tenantId: null, subTenantId: 'west' }], 'other')).toBeUndefined();
    const listed = await all((page) => listTenants(db, EVERYWHERE, page), 1);
    expect(listed.map((tenant) => [tenant.id, tenant.subTenantIds])).toEqual([
      ['other', ['east']],
      ['acme', ['east', 'west']],
    ]);
  });

  test('are created once, and an update only changes the given fields', async () => {
    const settings = {
      captureContent: false,
      spanRetentionDays: 30,
      recordRetentionDays: null,
      usageRetentionDays: 400,
      auditReads: false,
    };
    const shown = { id: 'new', displayName: 'New', settings };
    const tenant = { ...shown, founderId: null };
    expect(await insertTenant(db, tenant, NOW)).toMatchObject({ ...shown, selfService: false, subTenantIds: [] });
    await expect(insertTenant(db, tenant, NOW)).rejects.toThrow(DuplicateKeyError);
    const change = { settings: { captureContent: true } };
    expect(await updateTenant(db, ACME, 'new', change, NOW)).toBeUndefined();
    expect(await updateTenant(db, EVERYWHERE, 'new', change, NOW)).toMatchObject({
      displayName: 'New',
      settings: { captureContent: true, spanRetentionDays: 30, recordRetentionDays: null },
    });
    expect(await updateTenant(db, EVERYWHERE, 'new', { displayName: null }, NOW)).toMatchObject({ displayName: null });
  });

  test('have different founders, if they have one', async () => {
    const [ada, bob] = [await user('ada@x.example'), await user('bob@x.example')];
    const settings = {
      captureContent: false,
      spanRetentionDays: null,
      recordRetentionDays: null,
      usageRetentionDays: 400,
      auditReads: false,
    };
    const found = (id: string, founderId: string) =>
      insertTenant(db, { id, displayName: null, settings, founderId }, NOW);
    await found('adas', ada);
    await expect(found('another', ada)).rejects.toThrow(DuplicateKeyError);
    const has = (userId: string, digest = 'other') => hasFoundedTenant(db, { userId, digest });
    expect([await has(ada), await has(bob)]).toEqual([true, false]);
    await markFounder(db, ada, { digest: 'digest', sealed: 'sealed' });
    expect([await has(bob, 'digest'), await has(bob)]).toEqual([true, false]);
    await found('bobs', bob);
    // The first one keeps its mark.
    await markFounder(db, bob, { digest: 'digest', sealed: 'other' });
    expect(await listFounderMarks(db, { after: '', limit: 10 })).toEqual([
      { tenantId: 'adas', founderId: ada, sealed: 'sealed' },
    ]);
    expect(await listFounderMarks(db, { after: 'adas', limit: 10 })).toEqual([]);
  });

  test('show the first thousand of their own sub-tenants', async () => {
    const names = Array.from({ length: 1001 }, (_, index) => `sub-${String(index).padStart(4, '0')}`);
    for (const tenantId of ['acme', 'other']) {
      const rows = names.map((id) => ({ tenant_id: tenantId, id, created_at: NOW.toISOString() }));
      await db.insertInto('sub_tenants').values(rows).execute();
    }
    const { items } = await listTenants(db, EVERYWHERE, { limit: 5, after: null });
    expect(items.map((tenant) => tenant.subTenantIds.length)).toEqual([1000, 1000]);
  });
});
