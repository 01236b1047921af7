import { type Gateway, listGatewayDenials, updateGateway } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { DangerButton } from '../../components/danger-button.tsx';
import { plural } from '../../components/format.ts';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatch } from '../../data/client.ts';

/** How many denied uses the preview counts. */
const COUNTED = 100;

/** Turns enforcement on, after a look at what that would have denied, or off again. */
export function SwitchEnforcement({ gateway }: { gateway: Gateway }): ReactNode {
  const { id, name, displayName, enforcement } = gateway;
  const label = displayName ?? name;
  const set = (mode: Gateway['enforcement']) => ({
    run: () =>
      updateGateway({
        path: { gateway_id: id },
        body: { enforcement: mode },
        headers: { ...idempotencyKey(), ...ifMatch(`/v1/gateways/${id}`) },
        throwOnError: true,
      }),
    done: () => (mode === 'enforce' ? `${label} denies now what sessions may not use.` : `${label} only observes now.`),
  });
  const enforce = useAction(set('enforce'));
  const observe = useAction(set('observe'));
  if (enforcement === 'enforce') {
    return (
      <DangerButton
        scope="gateways:write"
        place={gateway}
        title={`Only observe at ${label}?`}
        consequence="It permits everything from now on, and only counts what it would deny."
        confirm="Only observe"
        action={observe}
      >
        Only observe
      </DangerButton>
    );
  }
  return (
    <DangerButton
      scope="gateways:write"
      place={gateway}
      title={`Enforce at ${label}?`}
      consequence={<Preview gatewayId={id} />}
      confirm="Enforce"
      action={enforce}
    >
      Enforce
    </DangerButton>
  );
}

function Preview({ gatewayId }: { gatewayId: string }): ReactNode {
  const { data, error } = useQuery({
    queryKey: ['denials-preview', gatewayId],
    queryFn: async ({ signal }) => {
      const query = { days: 7, limit: COUNTED };
      return (await listGatewayDenials({ path: { gateway_id: gatewayId }, query, signal, throwOnError: true })).data;
    },
  });
  const what = 'It denies from now on what sessions may not use.';
  if (error !== null) return <>{what} What it would have denied cannot be read.</>;
  if (data === undefined) return <>{what}</>;
  const { items, nextCursor } = data;
  if (items.length === 0) return <>{what} In the last 7 days it would have denied nothing that agents asked for.</>;
  const accounts = new Set(items.map(({ account }) => account)).size;
  const more = nextCursor === null ? '' : 'more than ';
  const first = items.slice(0, 5).map((use) => use.name);
  return (
    <>
      {what} In the last 7 days it would have denied {more}
      {plural(items.length, 'use')} to {plural(accounts, 'account')}: {first.join(', ')}
      {items.length > first.length && ' and others'}. The view Denied lists them.
    </>
  );
}
