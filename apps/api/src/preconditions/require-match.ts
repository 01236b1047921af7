import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ApiError, ValidationFailure, valueError } from '../errors.ts';
import { inOneTransaction } from '../one-transaction.ts';
import type { CallerContext } from '../trpc.ts';
import { entityTagOf, entityTagsIn, matchesStrongly } from './entity-tags.ts';

/** Reads the record that a write is about to change, as it is; null where there is none yet. May refuse: 404. */
export type CurrentRecord<Input> = (ctx: CallerContext, input: Input) => Promise<object | null>;

/** The preconditions of a request, as they were sent. */
export type Preconditions = { ifMatch?: string | undefined; ifNoneMatch?: string | undefined };

/**
 * A precondition that nothing would look at is worse than none: whoever sends one means to be refused where it fails (RFC
 * 9110, sections 13.1.1 and 13.1.2). Reads take If-None-Match, some writes If-Match.
 *
 * @throws 422
 */
export function refuseUnusable({ method, ifMatch }: Operation, sent: Preconditions): void {
  if (sent.ifMatch !== undefined && ifMatch === undefined) throw unusable('If-Match');
  if (sent.ifNoneMatch !== undefined && method !== 'GET') throw unusable('If-None-Match');
}

/**
 * Performs a write where the record still is what the caller's If-Match says, in the transaction that compared them: of two
 * who send the same tag one is refused.
 *
 * @throws 412
 */
export function performIfMatch<Input, T>(
  { ctx, input, header }: { ctx: CallerContext; input: Input; header: string },
  current: CurrentRecord<Input>,
  perform: (ctx: CallerContext) => Promise<T>,
): Promise<T> {
  const { ifMatch } = ctx.operation;
  if (ifMatch === undefined) throw unusable('If-Match');
  const tags = entityTagsIn('If-Match', header);
  return inOneTransaction(ctx.services, async (services) => {
    const inside = { ...ctx, services };
    const record = await current(inside, input);
    if (record === null || !matchesStrongly(tags, entityTagOf(record, ifMatch))) {
      throw new ApiError('precondition_failed', 'If-Match names another state of the record: read it again.');
    }
    return perform(inside);
  });
}

function unusable(name: 'If-Match' | 'If-None-Match'): ValidationFailure {
  return valueError(['header', name], `this operation takes no ${name}`);
}
