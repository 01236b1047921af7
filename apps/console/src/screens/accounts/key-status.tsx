import type { Credential } from '@quartermaster/client';
import type { ReactNode } from 'react';
import { StateMark } from '../../components/marks.tsx';

const TONES = { active: 'live', expiring: 'danger', expired: 'quiet', revoked: 'quiet' } as const;

export function KeyStatus({ status }: Pick<Credential, 'status'>): ReactNode {
  return <StateMark state={status} tone={TONES[status]} />;
}
