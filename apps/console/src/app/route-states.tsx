import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Screen } from '../components/screen.tsx';
import { Empty, Failed } from '../components/states.tsx';
import type { ApiProblem } from '../data/problem.ts';

export function RouteMissing(): ReactNode {
  return (
    <Screen title="No such page">
      <Empty title="There is no page at this address">
        <Link to="/inbox">Go to the inbox</Link>
      </Empty>
    </Screen>
  );
}

export function RouteFailed({ problem, retry }: { problem: ApiProblem; retry: () => void }): ReactNode {
  return (
    <Screen title="Something went wrong">
      <Failed problem={problem} retry={retry} />
    </Screen>
  );
}
