import { listDerivedAccess, listGateways, listGatewaySessions, listUsage } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { readAll } from '../data/pages.ts';
import { problemOf } from '../data/problem.ts';
import { HOUR_MS } from '../data/time-range.ts';
import { plural } from './format.ts';

const DAYS_MS = 7 * 24 * HOUR_MS;

/** Agents that are named. The others are counted. */
const MAX_NAMED = 5;

/** Records of one kind that are read to count them. */
const MAX_READ = 1000;

type Used = { account: string } | { providerId: string };

/** Who uses an account or a provider: the open sessions, and the agents of the last 7 days. Shown before it is disabled. */
export function UsedBy({ used }: { used: Used }): ReactNode {
  const agents = useQuery({
    queryKey: ['agents-that-use', used],
    queryFn: async ({ signal }) => {
      // Usage is counted by hour, so a range begins with one.
      const from = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - DAYS_MS).toISOString();
      const filter = 'account' in used ? { account: used.account } : { provider_id: used.providerId };
      const query = { ...filter, from, group_by: ['agent' as const], limit: MAX_READ };
      const { items } = (await listUsage({ query, signal, throwOnError: true })).data;
      return [...new Set(items.flatMap(({ agent }) => agent ?? []))];
    },
  });
  const sessions = useQuery({
    queryKey: ['open-sessions-of', used],
    queryFn: ({ signal }) =>
      'account' in used
        ? countSessionsOfAccount(used.account, signal)
        : countSessionsOfProvider(used.providerId, signal),
  });
  return (
    <ul aria-label="What uses it">
      <li>
        {sessions.data === undefined
          ? waitingText(sessions.error, 'Counting open sessions')
          : `${plural(sessions.data.count, 'open session')}${sessions.data.isComplete ? '' : ' or more'}`}
        {'providerId' in used && ' of gateways that list it'}
      </li>
      <li>
        {agents.data === undefined
          ? waitingText(agents.error, 'Reading the agents of the last 7 days')
          : `${plural(agents.data.length, 'agent')} in the last 7 days${namesOf(agents.data)}`}
      </li>
    </ul>
  );
}

function waitingText(error: Error | null, waiting: string): string {
  return error === null ? waiting : problemOf(error).message;
}

function namesOf(agents: readonly string[]): string {
  if (agents.length === 0) return '';
  const others = agents.length - MAX_NAMED;
  return `: ${agents.slice(0, MAX_NAMED).join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

type Count = { count: number; isComplete: boolean };

/** The open sessions that the account or one of its keys opened. */
async function countSessionsOfAccount(source: string, signal: AbortSignal): Promise<Count> {
  const { items, isComplete } = await readAll(async (cursor) => {
    const query = { source, limit: 100, ...(cursor !== undefined && { cursor }) };
    return (await listDerivedAccess({ query, signal, throwOnError: true })).data;
  }, MAX_READ);
  return { count: items.filter(({ kind }) => kind === 'gateway_session').length, isComplete };
}

/** The open sessions of all gateways that list the provider. */
async function countSessionsOfProvider(providerId: string, signal: AbortSignal): Promise<Count> {
  const gateways = await readAll(async (cursor) => {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    return (await listGateways({ query, signal, throwOnError: true })).data;
  }, MAX_READ);
  const sum = { count: 0, isComplete: gateways.isComplete };
  for (const { id } of gateways.items.filter(({ providerIds }) => providerIds.includes(providerId))) {
    const sessions = await readAll(async (cursor) => {
      const query = { status: 'active' as const, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listGatewaySessions({ path: { gateway_id: id }, query, signal, throwOnError: true })).data;
    }, MAX_READ);
    sum.count += sessions.items.length;
    sum.isComplete &&= sessions.isComplete;
    if (sum.count >= MAX_READ) return { ...sum, isComplete: false };
  }
  return sum;
}
