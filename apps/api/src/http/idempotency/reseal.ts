import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  listSealedAnswers,
  replaceSealedAnswer,
  type SealedAnswer,
} from '@quartermaster/db/repositories/idempotency-keys.ts';
import { SecretUnreadableError } from '../../platform/secret-box.ts';
import type { Services } from '../../platform/services.ts';
import { identityOf } from './perform-once.ts';

const BATCH_SIZE = 100;

type Needs = Pick<Services, 'db' | 'secrets'>;

/** Seals stored answers with the current key. Leaves and counts answers that no configured key opens. */
export async function resealAnswers(services: Needs): Promise<{ resealed: number; unreadable: number }> {
  const counts = { resealed: 0, unreadable: 0 };
  await eachAnswer(services, async (answer, resealed) => {
    if (resealed === 'unreadable') counts.unreadable += 1;
    else if (resealed !== null) {
      await replaceSealedAnswer(services.db, answer, resealed, new Date());
      counts.resealed += 1;
    }
  });
  return counts;
}

/** For an operator who declares a secret key lost: frees the Idempotency-Keys of answers that no key opens. */
export async function dropUnreadableAnswers(services: Needs): Promise<void> {
  await eachAnswer(services, async (answer, resealed) => {
    if (resealed === 'unreadable') await replaceSealedAnswer(services.db, answer, null, new Date());
  });
}

/** @param work gets each answer, and how it is sealed with the current key; null if it already is */
async function eachAnswer(
  { db, secrets }: Needs,
  work: (answer: SealedAnswer, resealed: string | null) => Promise<void>,
): Promise<void> {
  const resealOf = (answer: SealedAnswer) => {
    try {
      return secrets.reseal(answer.sealed, identityOf(answer));
    } catch (error) {
      if (error instanceof SecretUnreadableError) return 'unreadable';
      throw error;
    }
  };
  let batch: SealedAnswer[] = [];
  do {
    batch = await listSealedAnswers(db, { after: batch.at(-1) ?? null, limit: BATCH_SIZE });
    for (const answer of batch) await work(answer, resealOf(answer));
    await yieldToEventLoop();
  } while (batch.length === BATCH_SIZE);
}
