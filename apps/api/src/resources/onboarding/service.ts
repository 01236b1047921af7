import type { RegisterInput, Registration } from '@quartermaster/contracts/onboarding.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { newUserId } from '@quartermaster/db/ids.ts';
import { deleteUnclaimedUsers, insertUser, type NewUser } from '@quartermaster/db/repositories/users.ts';
import { auditedWrite, auditedWriteAsSystem } from '../../platform/audit/audited-write.ts';
import { removeInBatches } from '../../platform/remove-in-batches.ts';
import type { Services } from '../../platform/services.ts';
import type { Context } from '../../auth/context.ts';

const UNCLAIMED_AFTER_MS = 30 * 24 * 60 * 60 * 1000;
const BATCH_SIZE = 100;

type RegistrationContext = Pick<Context, 'services' | 'requestId' | 'callerRequestId' | 'address'> & {
  operation: Operation;
};

/**
 * Registers a user. The response must not reveal whether an email is registered. So it contains only the request's own values
 * and an id, and a known email does the same work: one insert, which then does nothing, and one audit event. That event names
 * the id of the response, never the existing user, so that strangers cannot write into that user's history. An event without
 * changed fields shows auditors that nothing was created.
 *
 * The caller has not proven that the email is theirs. So acceptance of terms and marketing gets no time, and does not count.
 * The first sign-in of the email's owner clears them, with the name and the metadata.
 */
export async function registerUser(ctx: RegistrationContext, body: RegisterInput): Promise<Registration> {
  await ctx.services.onboarding.registrations.consume(ctx.address);
  const { email, displayName = null, terms, marketingConsent } = body.user;
  const accepted = terms?.accepted ?? false;
  const status: Registration['registration']['status'] = accepted ? 'pending_identity' : 'pending_terms';
  return auditedWrite({ ...ctx, principal: null }, async (trx, record, now) => {
    const receivedAt = now.toISOString();
    const user: NewUser = {
      email,
      displayName,
      status,
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
    const inserted = await insertUser(trx, user, now);
    const id = inserted?.id ?? newUserId();
    const changed = inserted ? [...Object.keys(body.user), ...Object.keys(body).filter((name) => name !== 'user')] : [];
    record({ place: null, target: { type: 'user', id }, changed: { fields: changed, before: null, after: {} } });
    const { issuer } = ctx.services.onboarding;
    return {
      user: { id, email, displayName },
      registration: { status, receivedAt },
      signIn: issuer === null ? null : { issuer },
    };
  });
}

/** Removes users who registered 30 days ago, never signed in and have no membership. Returns how many. */
export function removeUnclaimedUsers(services: Pick<Services, 'db' | 'now' | 'secrets' | 'stopping'>): Promise<number> {
  return removeInBatches(services, BATCH_SIZE, (limit) =>
    auditedWriteAsSystem(services, 'remove_unclaimed_user', async (trx, record, now) => {
      const createdBefore = new Date(now.getTime() - UNCLAIMED_AFTER_MS).toISOString();
      const ids = await deleteUnclaimedUsers(trx, createdBefore, limit);
      for (const id of ids) record({ place: null, target: { type: 'user', id } });
      return ids.length;
    }),
  );
}
