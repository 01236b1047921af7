import { hash } from 'node:crypto';
import type { OwnGatewaySession } from '@quartermaster/contracts/gateway-decisions.ts';
import type { CompiledPolicy } from '../gateway-sessions/policy.ts';
import type { LiveSession } from './decide.ts';

/** The most items and bytes of JSON of an answer. */
const MAX_ITEMS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** What a session may use of its providers now, with an entity tag. */
type Offer = Pick<OwnGatewaySession, 'providers' | 'complete'> & { etag: string };

/**
 * Offers, by the providers that a session is limited to. Sessions of one gateway share them, as long as its policy is the same.
 */
const OFFERS = new WeakMap<CompiledPolicy, Map<string, Offer>>();

/** What a session may use now, for guards that decide locally. */
export function ownSession(session: LiveSession, now: Date): { answer: OwnGatewaySession; etag: string } {
  const { state, policy, endsAt } = session;
  const { etag, ...offer } = offerOf(session);
  const answer = {
    sessionId: state.id,
    subject: state.subject,
    gatewayId: policy.gateway.id,
    mode: policy.gateway.enforcement,
    expiresAt: new Date(endsAt).toISOString(),
    checkedAt: now.toISOString(),
    ...offer,
  };
  return { answer, etag };
}

function offerOf({ state, policy }: LiveSession): Offer {
  const offers = OFFERS.get(policy) ?? new Map<string, Offer>();
  OFFERS.set(policy, offers);
  const key = JSON.stringify(state.providerIds);
  const offer = offers.get(key) ?? newOffer(state.providerIds, policy);
  offers.set(key, offer);
  return offer;
}

function newOffer(providerIds: readonly string[] | null, { gateway, providers, find }: CompiledPolicy): Offer {
  const offered = providers.filter(
    ({ provider }) => provider.status === 'active' && (providerIds === null || providerIds.includes(provider.id)),
  );
  const records = offered.map(({ provider: { id, name, aliases, kind }, allowed }) => {
    // Only the names by which decisions find the provider: another provider of the gateway may have the same name.
    const isFound = (text: string) => find(text)?.provider.id === id;
    return { id, name: isFound(name) ? name : id, aliases: aliases.filter(isFound), kind, items: [...allowed] };
  });
  const items = records.reduce((sum, one) => sum + one.items.length, 0);
  const complete = items <= MAX_ITEMS && Buffer.byteLength(JSON.stringify(records)) <= MAX_BYTES;
  const shown = complete ? records : records.map((one) => ({ ...one, items: [] }));
  const etag = `"${hash('sha256', JSON.stringify([gateway.enforcement, complete, shown]), 'base64url')}"`;
  return { providers: shown, complete, etag };
}
