import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { describe, expect, test } from 'vitest';
import { acceptDrift } from '../../src/recommendations/rules/accept-drift.ts';
import { adoptProvider } from '../../src/recommendations/rules/adopt-provider.ts';
import { blockItem } from '../../src/recommendations/rules/block-item.ts';
import { registerItem } from '../../src/recommendations/rules/register-item.ts';
import { retireItem } from '../../src/recommendations/rules/retire-item.ts';
import { rotateCredential } from '../../src/recommendations/rules/rotate-credential.ts';
import type { Change, SubjectState } from '../../src/recommendations/rules/rule.ts';

const TIME = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-02T00:00:00.000Z';
const DRIFT = { schemaDigest: 'sha256:b', title: null, description: 'new', attributes: {}, detectedAt: LATER };

function provider(status: Provider['status'] = 'active'): Provider {
  return { id: 'prov_1', name: 'tools', status } as Provider;
}

function item(fields: Partial<InventoryItem> = {}): InventoryItem {
  const definition = { schemaDigest: 'sha256:a', title: null, description: 'old', attributes: {}, drift: null };
  const named = { id: 'inv_1', kind: 'tool', name: 'echo', status: 'available', lastSeenAt: TIME } as const;
  return { ...definition, ...named, ...fields } as InventoryItem;
}

/** An observation in a word: its status, `?` where nothing declares it, `!` where somebody rejected it, `0` unseen. */
function observation(said: string, id = 'obs_1'): RuntimeObservation {
  const status = /^[a-z]+/.exec(said)?.[0] as RuntimeObservation['status'];
  const decision = said.includes('!') ? 'rejected' : status === 'approved' || status === 'ignored' ? status : null;
  const review = decision && { decision, note: null, reviewedBy: 'user:u', reviewedAt: TIME };
  const drift = said.includes('~') ? { before: DRIFT, after: DRIFT, detectedAt: LATER } : null;
  const occurrences = said.includes('0') ? 0 : 1;
  return { id, status, unknown: said.includes('?'), occurrences, review, drift } as unknown as RuntimeObservation;
}

type Row = {
  state: string;
  provider?: Provider['status'];
  item?: Partial<InventoryItem>;
  seen?: string[];
  standing?: boolean;
  /** What applying it would change; null: it does not stand. */
  change: [Change['before'], Change['after']] | null;
};

function subject({ provider: status, item: fields, seen = [] }: Row): SubjectState {
  const observations = seen.map((said, index) => observation(said, `obs_${index + 1}`));
  const own = fields && item(fields);
  return { provider: provider(status), kind: 'tool', name: 'echo', item: own, deciding: own, observations };
}

const ECHO = { kind: 'tool', name: 'echo' };
const MADE = { ...ECHO, status: 'available', source: 'recommendation' };
const to = (before: string, after: string): Row['change'] => [
  { ...ECHO, status: before },
  { ...ECHO, status: after },
];

describe('register_item', () => {
  const rows: Row[] = [
    { state: 'opens for what nobody declares', seen: ['open?'], change: [null, MADE] },
    { state: 'stands on an approval', seen: ['approved?'], change: [null, MADE] },
    {
      state: 'brings a retired item back',
      item: { status: 'retired' },
      seen: ['open?'],
      change: to('retired', 'available'),
    },
    { state: 'not for what is declared', item: {}, seen: ['resolved'], change: null },
    { state: 'not for what somebody rejected', seen: ['rejected?!'], change: null },
    { state: 'not for what was rejected and is seen again', seen: ['open?!'], change: null },
    { state: 'not for what somebody ignores', seen: ['ignored?'], change: null },
    { state: 'stands while one of several asks for it', seen: ['rejected?!', 'open?'], change: [null, MADE] },
    { state: 'not at a deleted provider', provider: 'deleted', seen: ['open?'], change: null },
    { state: 'not for what nobody saw', change: null },
    { state: 'not for what a sync alone reported', item: { status: 'retired' }, seen: ['open?0'], change: null },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(registerItem.wanted(subject(row), false))).toEqual(row.change);
  });

  test('rests on those alone that ask for it, and a later approval is another cause', () => {
    const seen = registerItem.wanted(subject({ state: '', seen: ['rejected?!', 'open?'], change: null }), false);
    expect(seen?.rests.map(({ id }) => id)).toEqual(['obs_2']);
    const approved = registerItem.wanted(subject({ state: '', seen: ['approved?'], change: null }), false);
    expect([seen?.cause, approved?.cause]).toEqual(['unknown', TIME]);
  });
});

describe('block_item', () => {
  const rows: Row[] = [
    {
      state: 'opens for what was rejected and is seen again',
      seen: ['open?!'],
      change: [null, { ...MADE, status: 'blocked' }],
    },
    { state: 'blocks the item that there is', item: {}, seen: ['open!'], change: to('available', 'blocked') },
    { state: 'not for a rejection that is kept', seen: ['rejected?!'], change: null },
    {
      state: 'stays when it is rejected once more',
      standing: true,
      seen: ['rejected?!'],
      change: [null, { ...MADE, status: 'blocked' }],
    },
    { state: 'not for what is blocked already', item: { status: 'blocked' }, seen: ['open!'], change: null },
    { state: 'not for what a later review approved', standing: true, seen: ['approved?'], change: null },
    { state: 'not for what is merely unknown', seen: ['open?'], change: null },
    { state: 'not at a deleted provider', provider: 'deleted', seen: ['open?!'], change: null },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(blockItem.wanted(subject(row), row.standing ?? false))).toEqual(row.change);
  });
});

describe('retire_item', () => {
  const rows: Row[] = [
    {
      state: 'opens for what the last sync did not find',
      item: { status: 'missing' },
      change: to('missing', 'retired'),
    },
    { state: 'not for what is there', item: {}, change: null },
    { state: 'not for what is retired', item: { status: 'retired' }, change: null },
    { state: 'not for what is blocked', item: { status: 'blocked' }, change: null },
    { state: 'not for what is gone', change: null },
    { state: 'not at a deleted provider', provider: 'deleted', item: { status: 'missing' }, change: null },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(retireItem.wanted(subject(row), false))).toEqual(row.change);
  });
});

describe('accept_drift', () => {
  const before = { ...ECHO, schemaDigest: 'sha256:a', title: null, description: 'old', attributes: {}, drift: DRIFT };
  const after = { ...ECHO, schemaDigest: 'sha256:b', title: null, description: 'new', attributes: {}, drift: null };
  const rows: Row[] = [
    { state: 'opens for a changed definition', item: { drift: DRIFT }, seen: ['open~'], change: [before, after] },
    { state: 'stands on an approval', item: { drift: DRIFT }, seen: ['approved~'], change: [before, after] },
    { state: 'not once somebody rejected the change', item: { drift: DRIFT }, seen: ['rejected~!'], change: null },
    { state: 'not for what is rejected and seen again', item: { drift: DRIFT }, seen: ['open~!'], change: null },
    { state: 'not once somebody ignores it', item: { drift: DRIFT }, seen: ['ignored~'], change: null },
    { state: 'not for what did not change', item: {}, seen: ['resolved'], change: null },
    { state: 'not for what is blocked', item: { status: 'blocked', drift: DRIFT }, seen: ['open~'], change: null },
    { state: 'not for what is retired', item: { status: 'retired', drift: DRIFT }, seen: ['open~'], change: null },
    { state: 'not at a deleted provider', provider: 'deleted', item: { drift: DRIFT }, change: null },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(acceptDrift.wanted(subject(row), false))).toEqual(row.change);
  });

  test('another change is another cause', () => {
    const wanted = (schemaDigest: string) =>
      acceptDrift.wanted(subject({ state: '', item: { drift: { ...DRIFT, schemaDigest } }, change: null }), true)
        ?.cause;
    expect(wanted('sha256:b')).not.toBe(wanted('sha256:c'));
  });
});

describe('adopt_provider', () => {
  test.each([
    ['discovered', [{ status: 'discovered' }, { status: 'active' }]],
    ['active', null],
    ['disabled', null],
    ['deleted', null],
  ] as const)('of a provider that is %s', (status, change) => {
    expect(changeOf(adoptProvider.wanted({ provider: provider(status), observations: [] }, false))).toEqual(change);
  });
});

describe('rotate_credential', () => {
  const credential = (id: string, status: Credential['status'], expiresAt: string | null = null) =>
    ({ id, status, expiresAt }) as Credential;
  const active = credential('sec_1', 'active');
  const next = credential('sec_2', 'active');
  test.each([
    ['nothing is wrong', active, undefined, false, null],
    ['there is none', undefined, next, true, null],
    ['it ends soon', credential('sec_1', 'expiring', LATER), undefined, false, null as string | null],
    ['it ended', credential('sec_1', 'expired', LATER), next, false, 'sec_2'],
    ['the provider refused it', active, undefined, true, null],
    ['another one is on standby', active, next, false, 'sec_2'],
  ] as const)('where %s', (what, current, standby, refused, credentialId) => {
    const wanted = rotateCredential.wanted({ provider: provider(), current, standby, refused }, false);
    const stands = what !== 'nothing is wrong' && what !== 'there is none';
    expect(changeOf(wanted)).toEqual(stands ? [{ credentialId: 'sec_1' }, { credentialId }] : null);
  });

  test('not at a deleted provider', () => {
    const state = { provider: provider('deleted'), current: active, standby: next, refused: true };
    expect(rotateCredential.wanted(state, true)).toBeNull();
  });
});

function changeOf(wanted: { change: Change } | null): Row['change'] {
  return wanted && [wanted.change.before, wanted.change.after];
}
