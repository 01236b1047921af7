import type { RegisterInput, Registration } from '@quartermaster/contracts/onboarding.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { newUserId } from '@quartermaster/db/ids.ts';
import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import { deleteUnclaimedUsers, insertUser, type NewUser } from '@quartermaster/db/repositories/users.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { appendAuditEvents } from '../audit-events/mac.ts';
import { write } from '../audit-events/write.ts';
import { removeInBatches } from '../remove-in-batches.ts';
import type { Services } from '../services.ts';
import type { Context } from '../trpc.ts';

const UNCLAIMED_AFTER_MS = 30 * 24 * 60 * 60 * 1000;
const REMOVED_AT_ONCE = 100;

type RegistrationContext = Pick<Context, 'services' | 'requestId' | 'callerRequestId' | 'address'> & {
  operation: Operation;
};

/**
 * Registers a user. The answer is made of the request alone, but for the id, and an email that is known takes the same
 * way: one insert, which then does nothing, and one audit event. That event names the id that was answered, never the
 * user whose email it is, so that a stranger's attempts do not become part of anybody's history; no changed field is
 * what tells an auditor that nothing was made.
 *
 * Nobody has proven yet that the email is theirs. So terms and marketing have no time, and do not count; and the first
 * sign-in of the email's owner clears them, with the name and the metadata.
 */
export async function registerUser(ctx: RegistrationContext, body: RegisterInput): Promise<Registration> {
  await ctx.services.registrations.consume(ctx.address);
  const { email, displayName = null, terms, marketingConsent } = body.user;
  const accepted = terms?.accepted ?? false;
  const status: Registration['registration']['status'] = accepted ? 'pending_identity' : 'pending_terms';
  return write({ ...ctx, principal: null }, async (trx, record, now) => {
    const receivedAt = now.toISOString();
    const user: NewUser = {
      ...{ email, displayName, status },
      platformAdministrator: false,
      terms: {
        termsVersion: terms?.termsVersion ?? null,
        privacyVersion: terms?.privacyVersion ?? null,
        accepted,
        acceptedAt: null,
      },
      marketingConsent: {
        optedIn: marketingConsent?.optedIn ?? false,
        consentVersion: marketingConsent?.consentVersion ?? null,
        changedAt: null,
      },
      source: body.source ?? null,
      metadata: body.metadata ?? {},
    };
    const made = await insertUser(trx, user, now);
    const id = made?.id ?? newUserId();
    const changed = made ? [...Object.keys(body.user), ...Object.keys(body).filter((name) => name !== 'user')] : [];
    record({ place: null, target: { type: 'user', id }, changed });
    const { issuer } = ctx.services;
    return {
      user: { id, email, displayName },
      registration: { status, receivedAt },
      signIn: issuer === null ? null : { issuer },
    };
  });
}

/** Removes who registered 30 days ago, never signed in and belongs nowhere. Answers how many. */
export async function removeUnclaimedUsers(services: Pick<Services, 'db' | 'now' | 'secrets'>): Promise<number> {
  const now = services.now();
  const createdBefore = new Date(now.getTime() - UNCLAIMED_AFTER_MS).toISOString();
  return removeInBatches(REMOVED_AT_ONCE, (most) =>
    inTransaction(services.db, async (trx) => {
      const ids = await deleteUnclaimedUsers(trx, createdBefore, most);
      await appendAuditEvents(
        trx,
        { secrets: services.secrets, now },
        ids.map((id) => ({ ...REMOVAL, target: { type: 'user', id } })),
      );
      return ids.length;
    }),
  );
}

const REMOVAL = {
  place: null,
  actor: { type: 'system', id: null, tenantId: null },
  scheme: null,
  keyId: null,
  operation: 'remove_unclaimed_user',
  outcome: 'success',
  reason: null,
  changedFields: [],
  count: 1,
  requestId: '',
} satisfies Omit<NewAuditEvent, 'target'>;
