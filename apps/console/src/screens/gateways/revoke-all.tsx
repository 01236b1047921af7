import { type Gateway, listGatewaySessions, revokeGatewaySession } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { DangerButton } from '../../components/danger-button.tsx';
import { plural } from '../../components/format.ts';
import { showToast } from '../../components/toasts.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey } from '../../data/client.ts';
import { readAll } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';

/** More than these end at once only when the gateway is disabled. */
const MAX_SESSIONS = 1000;

/** Ends every active session of a gateway, one after the other, and says which ones it could not end. */
export function RevokeAll({ gateway }: { gateway: Gateway }): ReactNode {
  const revoke = useAction({
    run: () => revokeSessions(gateway.id),
    done: () => null,
    onDone: ({ revoked, failed, isComplete }) => {
      const rest = isComplete ? '' : ' More are active: repeat it, or disable the gateway.';
      const [reason] = failed;
      showToast({
        text: `${plural(revoked, 'session')} revoked.${reason === undefined ? '' : ` ${failed.length} failed: ${reason}`}${rest}`,
        isProblem: reason !== undefined || !isComplete,
      });
    },
  });
  return (
    <DangerButton
      scope="gateway_sessions:write"
      place={gateway}
      title={`Revoke all sessions of ${gateway.displayName ?? gateway.name}?`}
      consequence="Every session that is active now ends. Agents may open new ones: to prevent that, disable the gateway."
      confirm="Revoke all sessions"
      action={revoke}
    >
      Revoke all sessions
    </DangerButton>
  );
}

async function revokeSessions(gatewayId: string) {
  const path = { gateway_id: gatewayId };
  const { items, isComplete } = await readAll(async (cursor) => {
    const query = { status: 'active' as const, limit: 100, ...(cursor !== undefined && { cursor }) };
    return (await listGatewaySessions({ path, query, throwOnError: true })).data;
  }, MAX_SESSIONS);
  const failed: string[] = [];
  for (const { id } of items) {
    try {
      const headers = idempotencyKey();
      await revokeGatewaySession({ path: { ...path, session_id: id }, headers, throwOnError: true });
    } catch (error) {
      const problem = problemOf(error);
      // Another user revoked it first, or it expired.
      if (problem.status !== 404) failed.push(problem.message);
    }
  }
  return { revoked: items.length - failed.length, failed, isComplete };
}
