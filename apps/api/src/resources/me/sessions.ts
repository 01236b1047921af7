import type { ConsoleSession } from '@quartermaster/contracts/console-sessions.ts';
import type { Page, PageRequest } from '@quartermaster/db/queries.ts';
import {
  deleteConsoleSession,
  listConsoleSessions,
  type StoredConsoleSession,
} from '@quartermaster/db/repositories/console-sessions.ts';
import { requireUserCaller } from '../../auth/authorize.ts';
import { idleSince } from '../../auth/console-sessions.ts';
import type { CallerContext } from '../../auth/context.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { requireFound } from '../../platform/errors.ts';

/** The browsers in which the caller is signed in. */
export async function listMySessions(ctx: CallerContext, page: PageRequest): Promise<Page<ConsoleSession>> {
  if (ctx.principal.kind !== 'user') return { items: [], next: null };
  const userId = ctx.principal.id;
  const now = ctx.services.now();
  const found = await listConsoleSessions(ctx.services.db, { userId, lastUsedAfter: idleSince(now) }, page, now);
  return { items: found.items.map((session) => shown(ctx, session)), next: found.next };
}

/** Signs one of the caller's browsers out. */
export async function revokeMySession(ctx: CallerContext, id: string): Promise<ConsoleSession> {
  const userId = requireUserCaller(ctx);
  return auditedWrite(ctx, async (trx, record) => {
    const { session } = requireFound(await deleteConsoleSession(trx, { userId, id }), 'console_session_not_found');
    record({ place: null, target: { type: 'console_session', id } });
    return shown(ctx, session);
  });
}

function shown({ principal }: CallerContext, session: StoredConsoleSession): ConsoleSession {
  const { id, userAgent, createdAt, lastUsedAt, expiresAt } = session;
  return {
    id,
    userAgent: userAgent === '' ? null : userAgent,
    current: principal.session?.id === id,
    createdAt,
    lastUsedAt,
    expiresAt,
  };
}
