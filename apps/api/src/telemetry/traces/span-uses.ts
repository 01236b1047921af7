import type { Span, SpanOutline, SpanUse } from '@quartermaster/contracts/traces.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import {
  findObservationsOfAnyProvider,
  type KeyedObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { covers, type TenantPlace, type TenantScope, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { useStateOf } from '../../governance/observations/use-state.ts';

/** Distinct names whose observations one answer looks up. */
const MAX_NAMES = 500;

const MAX_NAME_LENGTH = 200;

const FAMILIES_OF_STATEMENT = 64;

/** What a span calls comes first: a call of a tool or model also names the agent that calls. */
const KINDS = ['tool', 'model', 'agent'] as const;

/** Spans with these operations are calls of an agent, and may name its model. */
const AGENT_OPERATIONS: ReadonlySet<string | null> = new Set(['invoke_agent', 'create_agent']);

/** A name that spans of one place report, and the spans. `provider`: as the spans report it. */
type Subject = Pick<SpanUse, 'kind' | 'name'> & {
  place: TenantPlace;
  nameFamily: string;
  provider: string | null;
  outlines: SpanOutline[];
};

/** Collects the models, tools and agents that spans name, and finds their observations all at once. */
export class UsesOfSpans {
  readonly #subjects = new Map<string, Subject>();

  add({ tenantId, subTenantId, genAi }: Span, outline: SpanOutline): void {
    if (genAi === null) return;
    const { provider } = genAi;
    for (const kind of KINDS) {
      const name = genAi[kind];
      if (name === null) continue;
      const key = JSON.stringify([tenantId, subTenantId, kind, provider, name]);
      const known = this.#subjects.get(key);
      if (known) known.outlines.push(outline);
      else if (this.#subjects.size < MAX_NAMES) {
        const family = nameFamily(kind, nameKey(kind, name, null));
        const place = { tenantId, subTenantId };
        this.#subjects.set(key, { kind, name, place, nameFamily: family, provider, outlines: [outline] });
      }
    }
  }

  /**
   * Fills `uses` of the outlines.
   *
   * @param scope where the caller may read observations
   * @returns how many observations were read
   */
  async resolve(db: Database, scope: TenantScope): Promise<number> {
    let read = 0;
    const readable = [...this.#subjects.values()].filter(({ place }) => covers(scope, place));
    for (const [tenantId, subjects] of Map.groupBy(readable, ({ place }) => place.tenantId)) {
      const observations = await observationsOf(db, tenantId, subjects);
      read += observations.length;
      const byFamily = Map.groupBy(observations, familyKey);
      for (const subject of subjects) {
        const use = useOf(subject, byFamily.get(familyKey({ ...subject, ...subject.place })) ?? []);
        if (use) for (const outline of subject.outlines) outline.uses.push(use);
      }
    }
    for (const { outlines } of readable) for (const outline of outlines) sortUses(outline);
    return read;
  }
}

/** What a subject and the observations that may be of it have in common. */
function familyKey({ subTenantId, kind, nameFamily: family }: FamilyInPlace): string {
  return JSON.stringify([subTenantId, kind, family]);
}

function sortUses({ uses, genAi }: SpanOutline): void {
  const isAgentCall = AGENT_OPERATIONS.has(genAi?.operation ?? null);
  const rank = ({ kind }: SpanUse) => (isAgentCall && kind === 'agent' ? -1 : KINDS.indexOf(kind));
  uses.sort((a, b) => rank(a) - rank(b));
}

/** A text of at most 200 characters. */
export function shortened(text: string): string {
  return text.slice(0, MAX_NAME_LENGTH).toWellFormed();
}

type FamilyInPlace = { subTenantId?: string | null | undefined; kind: string; nameFamily: string };

type Candidate = KeyedObservation & { nameFamily: string; providerName: string | null };

async function observationsOf(db: Database, tenantId: string, subjects: readonly Subject[]): Promise<Candidate[]> {
  const families = subjects.map(({ kind, nameFamily: family }) => ({ kind, nameFamily: family }));
  const distinct = [...new Map(families.map((family) => [JSON.stringify(family), family])).values()];
  const found: (KeyedObservation & { nameFamily: string })[] = [];
  for await (const batch of inBatches(distinct, FAMILIES_OF_STATEMENT)) {
    found.push(...(await findObservationsOfAnyProvider(db, { tenantId }, batch)));
  }
  const ids = [...new Set(found.map(({ providerId }) => providerId))];
  const providers = ids.length === 0 ? [] : await findProviders(db, wholeTenant(tenantId), ids);
  const names = new Map(providers.map(({ id, name }) => [id, name]));
  return found.map((observation) => ({ ...observation, providerName: names.get(observation.providerId) ?? null }));
}

/** @param observations those of the subject's place, kind and name family */
function useOf({ kind, name, provider }: Subject, observations: readonly Candidate[]): SpanUse | undefined {
  const named = observations.filter((each) => isNamed(each, name));
  // A span may say which provider it calls. If it does not, or uses another spelling, all with the name are candidates.
  const ofProvider = named.filter(({ providerName }) => providerName === provider);
  const candidates = ofProvider.length > 0 ? ofProvider : named;
  const state = useStateOf(candidates);
  const shown = candidates.find((each) => useStateOf([each]) === state);
  return shown && { kind, name: shortened(name), state, observationId: shown.id };
}

function isNamed({ kind, nameKey: key, providerName, evidence }: Candidate, name: string): boolean {
  return nameKey(kind, name, providerName) === key || evidence.names.includes(name);
}
