import { listRecommendations, type Recommendation } from '@quartermaster/client';
import { getRecommendationOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { type ReactNode, useMemo } from 'react';
import type { Column } from '../../components/data-table.tsx';
import { words } from '../../components/format.ts';
import { PrincipalName } from '../../components/principal.tsx';
import { SplitList } from '../../components/split-list.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useShownRecord } from '../../data/linked-record.ts';
import { type Providers, providerLabel, useProviders } from '../../data/names.ts';
import { usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { nameOfChange, signOfChange } from '../plan/change-list.tsx';
import { ChangePanel } from './change-panel.tsx';

export type ClosedStatus = 'applied' | 'dismissed' | 'superseded';

/** Who closed it and when. */
function closingOf({ appliedBy, appliedAt, dismissal, updatedAt }: Recommendation) {
  return { by: appliedBy ?? dismissal?.dismissedBy ?? null, at: appliedAt ?? dismissal?.dismissedAt ?? updatedAt };
}

function columnsOf({ byId }: Providers): Column<Recommendation>[] {
  return [
    {
      key: 'name',
      header: 'Change',
      width: 'minmax(200px, 2fr)',
      cell: (recommendation) => (
        <span className="row">
          <span className="mono dim">{signOfChange(recommendation)}</span>
          <strong className="truncate">{nameOfChange(recommendation)}</strong>
        </span>
      ),
    },
    { key: 'kind', header: 'Kind', isWideOnly: true, width: '130px', cell: ({ kind }) => words(kind) },
    {
      key: 'provider',
      header: 'Provider',
      width: 'minmax(120px, 1fr)',
      cell: ({ providerId }) => providerLabel(byId.get(providerId), providerId),
    },
    {
      key: 'by',
      header: 'By',
      isWideOnly: true,
      width: 'minmax(110px, 1fr)',
      cell: (recommendation) => {
        const { by } = closingOf(recommendation);
        return by === null ? <span className="dim">by itself</span> : <PrincipalName principal={by} />;
      },
    },
    {
      key: 'at',
      header: 'When',
      width: '104px',
      cell: (recommendation) => <Time at={closingOf(recommendation).at} />,
    },
  ];
}

/** Recommendations that are not open any more, newest first. Applied ones can be undone. */
export function ClosedChanges({ status }: { status: ClosedStatus }): ReactNode {
  const [{ item }] = useUrlState();
  const filter = useTenantFilter();
  const providers = useProviders();
  const columns = useMemo(() => columnsOf(providers), [providers]);
  const list = usePagedList({
    key: ['recommendations', status, filter],
    read: async (cursor, signal) => {
      const query = { ...filter, status, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listRecommendations({ query, signal, throwOnError: true })).data;
    },
  });
  const path = { recommendation_id: item ?? '' };
  const { shown, problem } = useShownRecord(list, item, getRecommendationOptions({ path }));
  return (
    <SplitList
      label="Changes"
      list={list}
      columns={columns}
      empty={
        <Empty title={`Nothing was ${status}`}>
          What is recommended now is in the plan. Decide about what it waits for in the inbox.
        </Empty>
      }
      shown={shown}
      problem={problem}
      panelLabel="Change"
      renderPanel={(recommendation, close) => (
        <ChangePanel
          key={recommendation.id}
          recommendation={recommendation}
          others={list.items.filter(
            ({ id, applyId }) => applyId !== null && applyId === recommendation.applyId && id !== recommendation.id,
          )}
          hasMore={list.hasMore}
          close={close}
        />
      )}
    />
  );
}
