import { secretBox } from '@quartermaster/api/src/crypto/secret-box.ts';
import { cursorCodec } from '@quartermaster/api/src/pages.ts';
import type { World } from './world.ts';

/** The key that proves the cursors of a world's servers. */
export function cursorKeyOf(world: World): Buffer {
  return secretBox(Buffer.from(world.secretKey, 'base64')).derive('cursors');
}

/**
 * A cursor of the world's key for a list without filters: what pages of millions of rows would lead to.
 *
 * @param path the path's parameters, where the operation has any
 * @param after creation time and id of the last row before the page
 */
export function cursorAfter(
  world: World,
  operation: { operationId: string; path: Record<string, string> | null },
  after: readonly [string, string],
): string {
  const scope = [{ tenantId: world.tenantId, subTenantId: null }];
  const binding = JSON.stringify([operation.operationId, operation.path, [], scope, scope]);
  return cursorCodec(cursorKeyOf(world)).encode(after, binding);
}
