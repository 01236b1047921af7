import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { describe, expect, test } from 'vitest';
import type { DenyingManifest } from '../../src/governance/declarations/manifest-denials.ts';
import { acceptDrift } from '../../src/governance/rules/accept-drift.ts';
import { adoptProvider } from '../../src/governance/rules/adopt-provider.ts';
import { allowInManifest } from '../../src/governance/rules/allow-in-manifest.ts';
import { blockItem } from '../../src/governance/rules/block-item.ts';
import { registerItem } from '../../src/governance/rules/register-item.ts';
import { retireItem } from '../../src/governance/rules/retire-item.ts';
import { rotateCredential } from '../../src/governance/rules/rotate-credential.ts';
import type { Change, SubjectState } from '../../src/governance/rules/rule.ts';

const TIME = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-02T00:00:00.000Z';
const DRIFT = { schemaDigest: 'sha256:b', title: null, description: 'new', attributes: {}, detectedAt: LATER };

function provider(status: Provider['status'] = 'active'): Provider {
  return { id: 'prov_1', tenantId: 'acme', subTenantId: null, name: 'tools', status } as Provider;
}

function item(fields: Partial<InventoryItem> = {}): InventoryItem {
  const definition = { schemaDigest: 'sha256:a', title: null, description: 'old', attributes: {}, drift: null };
  const named = { id: 'inv_1', kind: 'tool', name: 'echo', status: 'available', lastSeenAt: TIME } as const;
  return { ...definition, ...named, ...fields } as InventoryItem;
}

/** An observation from a text: its status, then `?` if undeclared, `!` if rejected, `~` if drifted, `0` if never seen, `m` if a manifest denied it. */
function observation(text: string, id = 'obs_1'): RuntimeObservation {
  const status = /^[a-z]+/.exec(text)?.[0] as RuntimeObservation['status'];
  const decision = text.includes('!') ? 'rejected' : status === 'approved' || status === 'ignored' ? status : null;
  const review = decision && { decision, note: null, reviewedBy: 'user:u', reviewedAt: TIME };
  const drift = text.includes('~') ? { before: DRIFT, after: DRIFT, detectedAt: LATER } : null;
  const occurrences = text.includes('0') ? 0 : 1;
  const evidence = { deniedReasons: text.endsWith('m') ? ['manifest'] : [] };
  const seen = { unknown: text.includes('?'), occurrences, evidence };
  return { id, status, ...seen, review, drift } as unknown as RuntimeObservation;
}

type Row = {
  state: string;
  provider?: Provider['status'];
  item?: Partial<InventoryItem> | undefined;
  seen?: string[];
  isOpen?: boolean;
  denying?: DenyingManifest[];
  /** The proposed change. Null: the rule proposes nothing. */
  change: [Change['before'], Change['after']] | null;
};

function subject({ provider: status, item: fields, seen = [], denying = [] }: Row): SubjectState {
  const observations = seen.map((text, index) => observation(text, `obs_${index + 1}`));
  const own = fields && item(fields);
  return { provider: provider(status), kind: 'tool', name: 'echo', item: own, deciding: own, observations, denying };
}

const ECHO = { kind: 'tool', name: 'echo' };
const MADE = { ...ECHO, status: 'available', source: 'recommendation' };
const to = (before: string, after: string): Row['change'] => [
  { ...ECHO, status: before },
  { ...ECHO, status: after },
];

describe('register_item', () => {
  const rows: Row[] = [
    { state: 'opens for an undeclared subject', seen: ['open?'], change: [null, MADE] },
    { state: 'opens with an approval', seen: ['approved?'], change: [null, MADE] },
    {
      state: 'brings a retired item back',
      item: { status: 'retired' },
      seen: ['open?'],
      change: to('retired', 'available'),
    },
    { state: 'not for a declared subject', item: {}, seen: ['resolved'], change: null },
    { state: 'not for a rejected subject', seen: ['rejected?!'], change: null },
    { state: 'not for a rejected subject that is seen again', seen: ['open?!'], change: null },
    { state: 'not for an ignored subject', seen: ['ignored?'], change: null },
    {
      state: 'opens if one of several observations is undeclared',
      seen: ['rejected?!', 'open?'],
      change: [null, MADE],
    },
    { state: 'is not proposed for a deleted provider', provider: 'deleted', seen: ['open?'], change: null },
    { state: 'not without observations', change: null },
    {
      state: 'not for a subject that only a sync reported',
      item: { status: 'retired' },
      seen: ['open?0'],
      change: null,
    },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(registerItem.evaluate(subject(row), false))).toEqual(row.change);
  });

  test('is based only on undeclared observations, and an approval changes its cause', () => {
    const seen = registerItem.evaluate(subject({ state: '', seen: ['rejected?!', 'open?'], change: null }), false);
    expect(seen?.observations.map(({ id }) => id)).toEqual(['obs_2']);
    const approved = registerItem.evaluate(subject({ state: '', seen: ['approved?'], change: null }), false);
    expect([seen?.cause, approved?.cause]).toEqual(['unknown', TIME]);
  });
});

describe('block_item', () => {
  const rows: Row[] = [
    {
      state: 'opens for a rejected subject that is seen again',
      seen: ['open?!'],
      change: [null, { ...MADE, status: 'blocked' }],
    },
    { state: 'blocks the existing item', item: {}, seen: ['open!'], change: to('available', 'blocked') },
    { state: 'not for a rejected subject that is not seen again', seen: ['rejected?!'], change: null },
    {
      state: 'stays open when the subject is rejected again',
      isOpen: true,
      seen: ['rejected?!'],
      change: [null, { ...MADE, status: 'blocked' }],
    },
    { state: 'not for a blocked item', item: { status: 'blocked' }, seen: ['open!'], change: null },
    { state: 'not after a later approval', isOpen: true, seen: ['approved?'], change: null },
    { state: 'not for an unknown subject without a review', seen: ['open?'], change: null },
    { state: 'is not proposed for a deleted provider', provider: 'deleted', seen: ['open?!'], change: null },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(blockItem.evaluate(subject(row), row.isOpen ?? false))).toEqual(row.change);
  });
});

describe('retire_item', () => {
  const rows: Row[] = [
    {
      state: 'opens for an item that the last sync did not find',
      item: { status: 'missing' },
      change: to('missing', 'retired'),
    },
    { state: 'not for an available item', item: {}, change: null },
    { state: 'not for a retired item', item: { status: 'retired' }, change: null },
    { state: 'not for a blocked item', item: { status: 'blocked' }, change: null },
    { state: 'not for a deleted item', change: null },
    { state: 'is not proposed for a deleted provider', provider: 'deleted', item: { status: 'missing' }, change: null },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(retireItem.evaluate(subject(row), false))).toEqual(row.change);
  });
});

describe('accept_drift', () => {
  const before = { ...ECHO, schemaDigest: 'sha256:a', title: null, description: 'old', attributes: {}, drift: DRIFT };
  const after = { ...ECHO, schemaDigest: 'sha256:b', title: null, description: 'new', attributes: {}, drift: null };
  const rows: Row[] = [
    { state: 'opens for a changed definition', item: { drift: DRIFT }, seen: ['open~'], change: [before, after] },
    { state: 'opens with an approval', item: { drift: DRIFT }, seen: ['approved~'], change: [before, after] },
    { state: 'not after a rejection of the change', item: { drift: DRIFT }, seen: ['rejected~!'], change: null },
    { state: 'not for a rejected subject that is seen again', item: { drift: DRIFT }, seen: ['open~!'], change: null },
    { state: 'not for an ignored drift', item: { drift: DRIFT }, seen: ['ignored~'], change: null },
    { state: 'not for an unchanged definition', item: {}, seen: ['resolved'], change: null },
    { state: 'not for a blocked item', item: { status: 'blocked', drift: DRIFT }, seen: ['open~'], change: null },
    { state: 'not for a retired item', item: { status: 'retired', drift: DRIFT }, seen: ['open~'], change: null },
    { state: 'is not proposed for a deleted provider', provider: 'deleted', item: { drift: DRIFT }, change: null },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(acceptDrift.evaluate(subject(row), false))).toEqual(row.change);
  });

  test('a different change has a different cause', () => {
    const wanted = (schemaDigest: string) =>
      acceptDrift.evaluate(subject({ state: '', item: { drift: { ...DRIFT, schemaDigest } }, change: null }), true)
        ?.cause;
    expect(wanted('sha256:b')).not.toBe(wanted('sha256:c'));
  });
});

/** A manifest that denies, and the gateway `gw` that uses it. Both are of the whole tenant, unless a sub-tenant is named. */
function denying(fields: Partial<Manifest> = {}, gatewayOf: string | null = null): DenyingManifest {
  const own = {
    id: 'man_1',
    tenantId: 'acme',
    subTenantId: null,
    name: 'edge',
    kind: 'gateway',
    version: 1,
    status: 'active',
  };
  const gateway = { tenantId: 'acme', subTenantId: gatewayOf, id: 'gw_1', name: 'gw' };
  return { manifest: { ...own, spec: { allow: [] }, ...fields } as Manifest, gateways: [gateway] };
}

describe('allow_in_manifest', () => {
  const manifest = { subTenantId: null, kind: 'gateway', name: 'edge' };
  const entry = { provider: 'prov_1', kind: 'tool', names: ['echo'] };
  const change: Row['change'] = [
    { ...ECHO, manifest, entry: null },
    { ...ECHO, manifest, entry },
  ];
  const full = Array.from({ length: 1000 }, () => entry);
  const denied = { item: {}, seen: ['open1m'], denying: [denying()] };
  const rows: Row[] = [
    { ...denied, state: 'opens for an available item that a manifest denies', change },
    { ...denied, state: 'opens with an approval', seen: ['approved1m'], change },
    {
      ...denied,
      state: 'adds what an agent declares',
      denying: [denying({ kind: 'agent', spec: { declares: [] } })],
      change: [
        { ...ECHO, manifest: { ...manifest, kind: 'agent' }, entry: null },
        { ...ECHO, manifest: { ...manifest, kind: 'agent' }, entry: { provider: 'prov_1', ...ECHO } },
      ],
    },
    { ...denied, state: 'not if no manifest denies it any more', denying: [], change: null },
    { ...denied, state: 'not for a subject without an item', item: undefined, change: null },
    { ...denied, state: 'not for a blocked item', item: { status: 'blocked' }, change: null },
    { ...denied, state: 'not for a pending item', item: { status: 'pending' }, change: null },
    { ...denied, state: 'not for a rejected subject', seen: ['rejected1!m'], change: null },
    { ...denied, state: 'not for a rejected subject that is seen again', seen: ['open1!m'], change: null },
    { ...denied, state: 'not for an ignored subject', seen: ['ignored1m'], change: null },
    { ...denied, state: 'not for a resolved subject', seen: ['resolved1m'], change: null },
    { ...denied, state: 'not if a manifest never denied it', seen: ['open1'], change: null },
    { ...denied, state: 'not for a superseded version', denying: [denying({ status: 'superseded' })], change: null },
    { ...denied, state: 'not if the manifest is full', denying: [denying({ spec: { allow: full } })], change: null },
    { ...denied, state: 'is not proposed for a deleted provider', provider: 'deleted', change: null },
  ];
  test.each(rows)('$state', (row) => {
    expect(changeOf(allowInManifest.evaluate(subject(row), false))).toEqual(row.change);
  });

  const ofSubTenant = (...manifests: DenyingManifest[]) => {
    const state = subject({ ...denied, state: '', denying: manifests, change: null });
    return allowInManifest.evaluate({ ...state, provider: { ...state.provider, subTenantId: 'east' } }, false);
  };
  test('a provider of a sub-tenant changes only manifests and gateways of that sub-tenant', () => {
    const own = { subTenantId: 'east' };
    expect(ofSubTenant(denying(own, 'east'))).not.toBeNull();
    for (const other of [denying({}, 'east'), denying(own, null), denying({ subTenantId: 'west' }, 'west')]) {
      expect(ofSubTenant(other)).toBeNull();
    }
    const outside = denying(own, null).gateways[0];
    const both = {
      ...denying(own, 'east'),
      gateways: [...denying(own, 'east').gateways, ...(outside ? [{ ...outside, name: 'hidden' }] : [])],
    };
    expect(ofSubTenant(both)?.reason).not.toContain('hidden');
  });

  test('has no exact entry for a name with *', () => {
    const state = subject({ ...denied, state: '', change: null });
    expect(allowInManifest.evaluate({ ...state, name: 'echo*' }, false)).toBeNull();
  });
});

describe('adopt_provider', () => {
  test.each([
    ['discovered', [{ status: 'discovered' }, { status: 'active' }]],
    ['active', null],
    ['disabled', null],
    ['deleted', null],
  ] as const)('of a provider that is %s', (status, change) => {
    expect(changeOf(adoptProvider.evaluate({ provider: provider(status), observations: [] }, false))).toEqual(change);
  });
});

describe('rotate_credential', () => {
  const credential = (id: string, status: Credential['status'], expiresAt: string | null = null) =>
    ({ id, status, expiresAt }) as Credential;
  const active = credential('sec_1', 'active');
  const next = credential('sec_2', 'active');
  test.each([
    ['nothing is wrong', active, undefined, false, null],
    ['there is no credential', undefined, next, true, null],
    ['it expires soon', credential('sec_1', 'expiring', LATER), undefined, false, null as string | null],
    ['it expired', credential('sec_1', 'expired', LATER), next, false, 'sec_2'],
    ['the provider refused it', active, undefined, true, null],
    ['there is a standby credential', active, next, false, 'sec_2'],
  ] as const)('where %s', (what, current, standby, refused, credentialId) => {
    const wanted = rotateCredential.evaluate({ provider: provider(), current, standby, refused }, false);
    const stands = what !== 'nothing is wrong' && what !== 'there is no credential';
    expect(changeOf(wanted)).toEqual(stands ? [{ credentialId: 'sec_1' }, { credentialId }] : null);
  });

  test('is not proposed for a deleted provider', () => {
    const state = { provider: provider('deleted'), current: active, standby: next, refused: true };
    expect(rotateCredential.evaluate(state, true)).toBeNull();
  });
});

function changeOf(wanted: { change: Change } | null): Row['change'] {
  return wanted && [wanted.change.before, wanted.change.after];
}
