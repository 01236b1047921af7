import { hash } from 'node:crypto';
import type { Database } from '@quartermaster/db/database.ts';
import { type FounderMark, listFounderMarks, markFounder } from '@quartermaster/db/repositories/founders.ts';
import type { Identity } from '@quartermaster/db/repositories/identities.ts';
import { type SecretBox, SecretUnreadableError } from '../../platform/secret-box.ts';
import type { Services } from '../../platform/services.ts';

const PURPOSE = 'founders';
const BATCH_SIZE = 100;

/**
 * A keyed digest of an identity. It shows whether the same person founded a tenant before, even after that user was erased.
 * Without the key it reveals nothing about the person.
 */
export function founderDigest(secrets: SecretBox, identity: Identity): string {
  return secrets.mac(PURPOSE, plainDigest(identity));
}

/** Stores the digest of a user's identity with the tenant that the user founded, if there is one. */
export async function rememberFounder(
  trx: Database,
  secrets: SecretBox,
  { userId, identity }: { userId: string; identity: Identity },
): Promise<void> {
  await markFounder(trx, userId, markOf(secrets, userId, plainDigest(identity)));
}

/** Renews the marks that were made with former keys. Returns how many it renewed, and how many no key opens. */
export async function resealFounders({
  db,
  secrets,
}: Pick<Services, 'db' | 'secrets'>): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 };
  for (let after = ''; ; ) {
    const marks = await listFounderMarks(db, { after, limit: BATCH_SIZE });
    for (const { founderId, sealed } of marks) {
      try {
        if (secrets.reseal(sealed, identityOf(founderId)) === null) continue;
        const plain = secrets.open(sealed, identityOf(founderId));
        await markFounder(db, founderId, markOf(secrets, founderId, plain));
        counts.resealed += 1;
      } catch (error) {
        if (!(error instanceof SecretUnreadableError)) throw error;
        counts.unreadable += 1;
      }
    }
    const last = marks.at(-1);
    if (marks.length < BATCH_SIZE || last === undefined) return counts;
    after = last.tenantId;
  }
}

function markOf(secrets: SecretBox, userId: string, plain: string): FounderMark {
  return { digest: secrets.mac(PURPOSE, plain), sealed: secrets.seal(plain, identityOf(userId)) };
}

/** The associated data of a sealed mark. */
function identityOf(userId: string): string {
  return `founder:${userId}`;
}

function plainDigest({ issuer, subject }: Identity): string {
  return hash('sha256', JSON.stringify([issuer, subject]), 'base64url');
}
