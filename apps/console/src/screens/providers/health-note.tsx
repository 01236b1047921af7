import type { Provider } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { StateMark } from '../../components/marks.tsx';
import { Time } from '../../components/time.tsx';

type Health = Pick<Provider, 'health' | 'healthReason' | 'unhealthySince'>;

/** The health of a provider. If it is not healthy: since when, and why. */
export function HealthNote({ health, healthReason, unhealthySince }: Health): ReactNode {
  if (health !== 'failing' && health !== 'doubtful') {
    const text = health === 'unknown' ? 'not checked' : health;
    return (
      <>
        <StateMark state={text} tone="quiet" />
        {healthReason !== null && <span className="dim truncate">{healthReason}</span>}
      </>
    );
  }
  return (
    <>
      <StateMark state={health} tone="danger" />
      <span className="danger truncate" title={healthReason ?? undefined}>
        {unhealthySince !== null && (
          <>
            since <Time at={unhealthySince} />
          </>
        )}
        {healthReason !== null && `: ${healthReason}`}
      </span>
    </>
  );
}
