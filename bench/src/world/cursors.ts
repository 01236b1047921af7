import { secretBox } from '@quartermaster/api/src/platform/secret-box.ts';
import { cursorCodec } from '@quartermaster/api/src/platform/cursor-codec.ts';
import type { World } from './world.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';

/** The key for the cursors of a world's servers. */
export function cursorKeyOf(world: World): Buffer {
  return secretBox(Buffer.from(world.secretKey, 'base64')).derive('cursors');
}

/**
 * A cursor for a list without filters, made with the world's key. It replaces paging through millions of rows.
 *
 * @param path the parameters of the path, if the operation has any
 * @param after the creation time and id of the last row before the page
 */
export function cursorAfter(
  world: World,
  operation: { operationId: string; path: Record<string, string> | null },
  after: readonly [string, string],
): string {
  const scope = wholeTenant(world.tenantId);
  const binding = JSON.stringify([operation.operationId, operation.path, [], scope, scope]);
  return cursorCodec(cursorKeyOf(world)).encode(after, binding);
}
