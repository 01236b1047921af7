import type { ExpressionBuilder } from 'kysely';
import { timeOfBlock } from '../ids.ts';
import type { Tables } from '../tables.ts';

/** The key of a block. Its id contains the time, which selects the partition on Postgres. */
export type BlockKey = { id: string; createdAt: string };

export function blockKeyOf(id: string): BlockKey {
  return { id, createdAt: timeOfBlock(id).toISOString() };
}

/** The condition that a row of `span_blocks` is one of the given blocks of a place. */
export function isOneOfBlocks(place: { tenant_id: string; sub_tenant_id: string }, blocks: readonly BlockKey[]) {
  const ids = blocks.map(({ id }) => id);
  const times = blocks.map(({ createdAt }) => createdAt);
  return (eb: ExpressionBuilder<Tables, 'span_blocks'>) =>
    eb.and([
      eb('tenant_id', '=', place.tenant_id),
      eb('sub_tenant_id', '=', place.sub_tenant_id),
      eb('id', 'in', ids),
      eb('created_at', 'in', times),
    ]);
}
