import type { ReactNode } from 'react';
import { Icon } from '../../components/icons.tsx';
import { Time } from '../../components/time.tsx';

/** When a key ends. A sign warns if that is soon, as the API says. */
export function Expiry({ at, isSoon, fallback = 'never' }: Props): ReactNode {
  if (!isSoon) return <Time at={at} fallback={fallback} />;
  return (
    <span className="row danger">
      <Icon name="warning" size={13} />
      <Time at={at} />
    </span>
  );
}

type Props = { at: string | null; isSoon: boolean; fallback?: string };
