import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { CallerContext } from '../auth/context.ts';
import type { CurrentRecord } from './preconditions/require-match.ts';

/** An operation and its handler. The handler runs after all checks of the pipeline. */
export type Endpoint = {
  operation: Operation;
  run: (call: { ctx: CallerContext; input: unknown }) => unknown;
  /** Reads the record whose tag is compared with If-Match. Null if the operation does not support If-Match. */
  current: CurrentRecord<unknown> | null;
};
