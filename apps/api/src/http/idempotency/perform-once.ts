import { hash, randomUUID } from 'node:crypto';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { CommitOutcomeUnknownError } from '@quartermaster/db/errors.ts';
import { claimKey, type KeyOwner, keepAnswer, type NewClaim } from '@quartermaster/db/repositories/idempotency-keys.ts';
import { userWithoutTenant, usersOfTenant } from '@quartermaster/db/repositories/tenant-usage.ts';
import canonicalize from 'canonicalize';
import { type Principal, principalName, tenantsOfUser } from '../../auth/principal.ts';
import { SecretUnreadableError } from '../../platform/secret-box.ts';
import { ApiError } from '../../platform/errors.ts';
import { inOneTransaction } from '../../platform/one-transaction.ts';
import type { Services } from '../../platform/services.ts';
import type { RawInput } from '../messages/query.ts';
import { keyFailure } from './key-header.ts';
import { release } from './release.ts';
import { type CallerRights, callerRightsOf, stillHolds } from './caller-rights.ts';

/** How long an answer is stored. */
const KEPT_MS = 24 * 3600 * 1000;

/** The lease of a claim, in milliseconds. After it the request counts as dead, because its process must have ended. */
const LEASE_MS = 60_000;

/** A write that carries an Idempotency-Key. */
export type KeyedWrite = {
  services: Services;
  operation: Operation;
  /** Null: an anonymous caller of a public operation. */
  principal: Principal | null;
  key: string;
  /** The input as sent. */
  raw: RawInput;
  /** The operation is public, or about the caller's own records. */
  isOwn: boolean;
};

/** What is stored for a key, encrypted. */
type Kept = {
  output: unknown;
  /** The rights of the caller at that time. Stored answers contain this field name, so it cannot be renamed. */
  standing: CallerRights | null;
};

/**
 * Performs a write once for its key (draft-ietf-httpapi-idempotency-key-header-07), and answers every repetition of the
 * request with the first answer.
 *
 * First the key is claimed in a separate transaction, so that a concurrent request with the same key is refused at once.
 * Then the effect and the answer are written in one transaction, so a process that dies has written both or neither. Its
 * claim expires with its lease. Only successes are stored. A refusal changes nothing and releases the key.
 *
 * @param perform the procedure; it writes through the services that it is given, and may run more than once
 * @throws 409 while the first request is in flight, or if the tenant has no room for the answer; 422 if the key was used for
 *   another request; 403 if the caller has since lost rights that they held when the write was done
 */
export async function performOnce(
  write: KeyedWrite,
  perform: (services: Services) => Promise<unknown>,
): Promise<{ output: unknown; replayed: boolean }> {
  const { services, operation } = write;
  const now = await services.databaseNow(services.db);
  const claim = claimOf(write, now);
  const claimed = await claimedKey(services, claim, now);
  switch (claimed.outcome) {
    case 'answered': {
      const { output, standing } = opened(services, claim, claimed.sealedAnswer);
      if (!stillHolds(write.principal, standing)) throw rightsLost();
      return { output, replayed: true };
    }
    case 'in_flight':
      throw inFlight();
    case 'other_request':
      throw keyFailure('key was already used for another request, or by another caller');
    case 'claimed':
  }
  const keep = async (inside: Services, output: unknown) => {
    const kept: Kept = { output, standing: callerRightsOf(write, output) };
    const sealed = services.secrets.seal(JSON.stringify(kept), identityOf(claim));
    if (operation.idempotency === 'transaction') await requireRoom(inside, claim, Buffer.byteLength(sealed));
    // The lease expired, and another request claimed the key: roll back, so that the effect does not happen twice.
    if (!(await keepAnswer(inside.db, claim, sealed, now))) throw inFlight();
    return output;
  };
  try {
    if (operation.idempotency !== 'lease') {
      const output = await inOneTransaction(services, async (inside) => keep(inside, await perform(inside)));
      return { output, replayed: false };
    }
    // The effect cannot be rolled back, so the limit is checked before it, with the smallest possible answer.
    await requireRoom(services, claim, 1);
    return { output: await keep(services, await perform(services)), replayed: false };
  } catch (error) {
    await release(services, claim);
    throw error;
  }
}

/** @throws 409 if there is no room for the answer. The answers to anonymous callers are not counted. */
async function requireRoom(
  { db, tenantLimits }: Pick<Services, 'db' | 'tenantLimits'>,
  claim: NewClaim,
  bytes: number,
): Promise<void> {
  const { tenantId, countedFor: counted } = claim;
  if (counted === '') return;
  if (counted === tenantId) await tenantLimits.add(db, tenantId, 'storedBytes', bytes);
  else await tenantLimits.addAnswerOfUsers(db, counted, bytes);
}

/** Whose stored bytes include the answer: an account's tenant, all users of a user's tenant, or a user without a tenant. */
function countedFor({ principal }: KeyedWrite): string {
  if (principal?.kind !== 'user') return principal?.tenantId ?? '';
  const [tenantId] = tenantsOfUser(principal);
  return tenantId === undefined ? userWithoutTenant(principal.id) : usersOfTenant(tenantId);
}

/**
 * Claims the key. If it is unknown whether the claim was stored, releases the key, because nothing else would until its lease
 * ends.
 */
async function claimedKey(
  services: Pick<Services, 'db' | 'log'>,
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
    countedFor: countedFor(write),
  };
}

/**
 * Anonymous callers share one namespace of keys. The digest of the request is part of their key. So two callers who choose
 * the same key get the same answer only if they sent the same request, and no caller learns about a request of another one.
 */
function ownerOf({ principal, key }: KeyedWrite, requestDigest: string): KeyOwner {
  if (principal === null) {
    return { tenantId: '', principal: 'anonymous', keyDigest: digestOf(JSON.stringify([key, requestDigest])) };
  }
  return { tenantId: principal.tenantId ?? '', principal: principalName(principal), keyDigest: digestOf(key) };
}

/** Identifies a request. Includes the API key, because another key of the same account may not be permitted to see the answer. */
function requestText({ operation, principal, raw }: KeyedWrite): string {
  const body = raw.body ?? (operation.bodyOptional ? {} : null);
  const { method, path } = operation;
  const credential = principal?.keyId ?? null;
  return canonicalize([method, path, raw.path ?? {}, raw.query ?? {}, body, credential]) ?? '';
}

function digestOf(text: string): string {
  return hash('sha256', text);
}

/** The associated data of a sealed answer. */
export function identityOf({ tenantId, principal, keyDigest }: KeyOwner): string {
  return `idempotency_key:${JSON.stringify([tenantId, principal, keyDigest])}`;
}

function opened({ secrets }: Pick<Services, 'secrets'>, owner: KeyOwner, sealed: string): Kept {
  try {
    return JSON.parse(secrets.open(sealed, identityOf(owner))) as Kept;
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    throw new ApiError(
      'idempotency_answer_unreadable',
      'The request was carried out before. The stored answer cannot be decrypted, because the secret key was changed.',
    );
  }
}

/** The write itself was done, and is not repeated. */
function rightsLost(): ApiError {
  return new ApiError(
    'tenant_forbidden',
    'The stored answer to this key is not returned, because you no longer hold the rights that its request needed.',
  );
}

function inFlight(): ApiError {
  return new ApiError(
    'idempotency_key_in_use',
    'The first request with this key is still running. Repeat the request later to get its answer.',
    {
      headers: { 'Retry-After': '1' },
    },
  );
}
