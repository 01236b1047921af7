import { createHash, randomUUID } from 'node:crypto';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { CommitOutcomeUnknownError } from '@quartermaster/db/errors.ts';
import { claimKey, type KeyOwner, keepAnswer, type NewClaim } from '@quartermaster/db/repositories/idempotency-keys.ts';
import canonicalize from 'canonicalize';
import { type Principal, principalName } from '../access/principal.ts';
import { SecretUnreadableError } from '../crypto/secret-box.ts';
import { ApiError } from '../errors.ts';
import { checkValues } from '../http/values.ts';
import { inOneTransaction } from '../one-transaction.ts';
import type { Services } from '../services.ts';
import { keyFailure } from './key-header.ts';
import { release } from './release.ts';
import { type Standing, standingOf, stillStands } from './standing.ts';

/** How long an answer is kept. */
const KEPT_MS = 24 * 3600 * 1000;

/** A request that has neither answered nor released its key for so long is over: its process ended. In milliseconds. */
const LEASE_MS = 60_000;

/** A write that carries an Idempotency-Key. */
export type KeyedWrite = {
  services: Services;
  operation: Operation;
  /** Null: a stranger's, of a public operation. */
  principal: Principal | null;
  key: string;
  /** `{ path, query, body }` as sent. */
  raw: { path: unknown; query: unknown; body: unknown };
};

/** What is sealed for a key. */
type Kept = { output: unknown; standing: Standing | null };

/**
 * Performs a write once for its key (draft-ietf-httpapi-idempotency-key-header-07), and answers the first answer to every
 * further request that asks for the same.
 *
 * The key is claimed first, in a transaction of its own, so that others with the same key are told at once. Then the
 * effect and the answer are written in one transaction: a process that dies has done both, or neither; its claim lapses
 * with its lease. Only successes are kept. A refusal changes nothing and releases the key.
 *
 * @param perform the procedure; it writes through the services that it is given, and may run more than once
 * @throws 409 while the first request is in flight; 422 where the key stands for another request; 403 where the caller has
 *   lost since what they held where it was done; 409 where the tenant has no room for the answer
 */
export async function performOnce(
  write: KeyedWrite,
  perform: (services: Services) => Promise<unknown>,
): Promise<{ output: unknown; replayed: boolean }> {
  const { services, operation } = write;
  checkValues(write.raw);
  const now = await services.databaseNow(services.db);
  const claim = claimOf(write, now);
  const claimed = await claimedKey(services, claim, now);
  switch (claimed.outcome) {
    case 'answered': {
      const { output, standing } = opened(services, claim, claimed.sealedAnswer);
      if (!stillStands(write.principal, standing)) throw lostStanding();
      return { output, replayed: true };
    }
    case 'in_flight':
      throw inFlight();
    case 'other_request':
      throw keyFailure('the key was used for another request, or with another credential');
    case 'claimed':
  }
  const keep = async (inside: Services, output: unknown) => {
    const kept: Kept = { output, standing: standingOf(write, output) };
    const sealed = services.secrets.seal(JSON.stringify(kept), identityOf(claim));
    if (operation.idempotency === 'transaction') await requireRoom(inside, claim, Buffer.byteLength(sealed));
    // The lease was over, and another request took the key: what was done here must not be done twice.
    if (!(await keepAnswer(inside.db, claim, sealed, now))) throw inFlight();
    return output;
  };
  try {
    if (operation.idempotency !== 'lease') {
      const output = await inOneTransaction(services, async (inside) => keep(inside, await perform(inside)));
      return { output, replayed: false };
    }
    // The effect cannot be undone once it is there: a tenant at its limit is refused before, whatever the answer takes.
    await requireRoom(services, claim, 1);
    return { output: await keep(services, await perform(services)), replayed: false };
  } catch (error) {
    await release(services, claim);
    throw error;
  }
}

/** @throws 409 where a tenant may not store so many bytes more; users and strangers stand in no tenant */
async function requireRoom({ db, tenantLimits }: Services, { tenantId }: KeyOwner, bytes: number): Promise<void> {
  if (tenantId !== '') await tenantLimits.add(db, tenantId, 'storedBytes', bytes);
}

/** Where nobody knows whether the key was claimed, nobody would release it. */
async function claimedKey(
  services: Services,
  claim: NewClaim,
  now: Date,
): Promise<Awaited<ReturnType<typeof claimKey>>> {
  try {
    return await claimKey(services.db, claim, now);
  } catch (error) {
    if (error instanceof CommitOutcomeUnknownError) await release(services, claim);
    throw error;
  }
}

function claimOf(write: KeyedWrite, now: Date): NewClaim {
  const requestDigest = digestOf(requestText(write));
  return {
    ...ownerOf(write, requestDigest),
    requestDigest,
    claim: randomUUID(),
    leaseExpiresAt: new Date(now.getTime() + LEASE_MS).toISOString(),
    expiresAt: new Date(now.getTime() + KEPT_MS).toISOString(),
  };
}

/**
 * Strangers have no keys of their own: theirs count together with what they ask, so that nobody finds out by a key what
 * somebody else asked. Who asks the very same gets the same answer; it is made of the request alone.
 */
function ownerOf({ principal, key }: KeyedWrite, requestDigest: string): KeyOwner {
  if (principal === null) {
    return { tenantId: '', principal: 'anonymous', keyDigest: digestOf(JSON.stringify([key, requestDigest])) };
  }
  return { tenantId: principal.tenantId ?? '', principal: principalName(principal), keyDigest: digestOf(key) };
}

/** The API key counts as well: an answer may hold what another key of the same account could not have asked for. */
function requestText({ operation, principal, raw }: KeyedWrite): string {
  const body = raw.body ?? (operation.bodyOptional ? {} : null);
  const { method, path } = operation;
  const credential = principal?.keyId ?? null;
  return canonicalize([method, path, raw.path ?? {}, raw.query ?? {}, body, credential]) ?? '';
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The associated data of a sealed answer. */
export function identityOf({ tenantId, principal, keyDigest }: KeyOwner): string {
  return `idempotency_key:${JSON.stringify([tenantId, principal, keyDigest])}`;
}

function opened({ secrets }: Services, owner: KeyOwner, sealed: string): Kept {
  try {
    return JSON.parse(secrets.open(sealed, identityOf(owner))) as Kept;
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    throw new ApiError(
      'idempotency_answer_unreadable',
      'What was asked was done. Its answer cannot be opened: the secret key was changed since.',
    );
  }
}

/** Not done anew: what the key stands for was done. */
function lostStanding(): ApiError {
  return new ApiError(
    'tenant_forbidden',
    'The key was used for a write where you hold less by now: its answer is not repeated.',
  );
}

function inFlight(): ApiError {
  return new ApiError('idempotency_key_in_use', 'A request with this key is in flight: ask again for its answer.', {
    headers: { 'Retry-After': '1' },
  });
}
