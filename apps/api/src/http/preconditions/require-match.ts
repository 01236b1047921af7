import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ApiError, ValidationFailure, valueError } from '../../platform/errors.ts';
import { inOneTransaction } from '../../platform/one-transaction.ts';
import type { CallerContext, Preconditions } from '../../auth/context.ts';
import { entityTagOf, entityTagsIn, matchesStrongly } from './entity-tags.ts';

/** Reads the record that a write is about to change; null if it does not exist yet. @throws ApiError 404 */
export type CurrentRecord<Input> = (ctx: CallerContext, input: Input) => Promise<object | null>;

/**
 * Refuses precondition headers that the operation would ignore. A caller who sends one relies on being refused if it fails
 * (RFC 9110, sections 13.1.1 and 13.1.2). Reads take If-None-Match, and some writes take If-Match.
 *
 * @throws 422
 */
export function checkPreconditionHeaders({ method, ifMatch }: Operation, sent: Preconditions): void {
  if (sent.ifMatch !== undefined && ifMatch === undefined) throw unusable('If-Match');
  if (sent.ifNoneMatch !== undefined && method !== 'GET') throw unusable('If-None-Match');
}

/**
 * Performs a write if the record still has an entity tag of If-Match. It compares in the transaction of the write, so of two
 * callers with the same tag one is refused.
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
      throw new ApiError('precondition_failed', 'The record does not have the entity tag in If-Match. Read it again.');
    }
    return perform(inside);
  });
}

function unusable(name: 'If-Match' | 'If-None-Match'): ValidationFailure {
  return valueError(['header', name], `this operation does not support ${name}`);
}
