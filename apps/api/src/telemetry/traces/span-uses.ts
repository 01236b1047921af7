import type { Span, SpanOutline, SpanUse } from '@quartermaster/contracts/traces.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameFamily } from '@quartermaster/db/name-family.ts';
import { nameKey } from '@quartermaster/db/name-key.ts';
import { findProviders } from '@quartermaster/db/repositories/providers.ts';
import {
  findObservationsOfAnyProvider,
  type KeyedObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { covers, type TenantPlace, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { useStateOf } from '../../governance/observations/use-state.ts';

/** Distinct names whose observations one answer looks up. */
const MAX_NAMES = 500;

const MAX_NAME_LENGTH = 200;

/** What a span calls comes first: a call of a tool or model also names the agent that calls. */
const KINDS = ['tool', 'model', 'agent'] as const;

/** Spans with these operations are calls of an agent, and may name its model. */
const AGENT_OPERATIONS: ReadonlySet<string | null> = new Set(['invoke_agent', 'create_agent']);

/** A name that spans of one place report, and the spans. `provider`: as the spans report it. */
type Subject = Pick<SpanUse, 'kind' | 'name'> & {
  place: TenantPlace;
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
        this.#subjects.set(key, { kind, name, place: { tenantId, subTenantId }, provider, outlines: [outline] });
      }
    }
  }

  /** Fills `uses` of the outlines. @param scope where the caller may read observations */
  async resolve(db: Database, scope: TenantScope): Promise<void> {
    const readable = [...this.#subjects.values()].filter(({ place }) => covers(scope, place));
    for (const [tenantId, subjects] of Map.groupBy(readable, ({ place }) => place.tenantId)) {
      const observations = await observationsOf(db, tenantId, subjects);
      for (const subject of subjects) {
        const use = useOf(subject, observations);
        if (use) for (const outline of subject.outlines) outline.uses.push(use);
      }
    }
    for (const { outlines } of readable) for (const outline of outlines) sortUses(outline);
  }
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

type Candidate = KeyedObservation & { providerName: string | null };

async function observationsOf(db: Database, tenantId: string, subjects: readonly Subject[]): Promise<Candidate[]> {
  const families = subjects.map(({ kind, name }) => ({
    kind,
    nameFamily: nameFamily(kind, nameKey(kind, name, null)),
  }));
  const distinct = [...new Map(families.map((family) => [JSON.stringify(family), family])).values()];
  const found = await findObservationsOfAnyProvider(db, { tenantId }, distinct);
  const ids = [...new Set(found.map(({ providerId }) => providerId))];
  const providers = ids.length === 0 ? [] : await findProviders(db, [{ tenantId, subTenantId: null }], ids);
  const names = new Map(providers.map(({ id, name }) => [id, name]));
  return found.map((observation) => ({ ...observation, providerName: names.get(observation.providerId) ?? null }));
}

function useOf({ kind, name, place, provider }: Subject, observations: readonly Candidate[]): SpanUse | undefined {
  const named = observations.filter(
    (each) => each.kind === kind && each.subTenantId === place.subTenantId && isNamed(each, name),
  );
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
