import { listProviderRecommendations, type SkippedRecommendation } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatNumber } from '../../components/format.ts';
import { SKIP_REASONS } from '../../data/skip-reasons.ts';
import { ChangeList } from './change-list.tsx';
import classes from './plan.module.css';

type Props = { providerId: string; skipped: readonly SkippedRecommendation[] };

/** What stays as it is, and why. */
export function SkippedList({ providerId, skipped }: Props): ReactNode {
  const { data = [] } = useQuery({
    queryKey: ['recommendations-of-provider', providerId],
    queryFn: async ({ signal }) => {
      const path = { provider_id: providerId };
      const query = { status: 'open' as const, limit: 100 };
      return (await listProviderRecommendations({ path, query, signal, throwOnError: true })).data.items;
    },
  });
  return [...Map.groupBy(skipped, ({ reason }) => reason)].map(([reason, rows]) => {
    const ids = new Set(rows.map(({ id }) => id));
    return (
      <section key={reason} className={classes.section}>
        <h2>
          {sentenceCase(SKIP_REASONS[reason])}: {formatNumber(rows.length)}
        </h2>
        {reason === 'needs_review' && (
          <p>
            <Link to="/inbox" search={(before) => ({ tenant: before['tenant'], provider: providerId })}>
              Decide about them in the inbox
            </Link>
          </p>
        )}
        <ChangeList recommendations={data.filter(({ id }) => ids.has(id))} areApplicable={reason === 'undone'} />
      </section>
    );
  });
}

function sentenceCase(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
