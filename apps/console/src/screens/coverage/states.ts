import type { CoverageState } from '@quartermaster/client';

/** The label of each state. The tone `danger` asks a person to act. What needs attention comes first. */
export const STATES: Record<CoverageState, { label: string; tone: 'live' | 'quiet' | 'danger' }> = {
  bypassed: { label: 'bypasses its gateway', tone: 'danger' },
  silent: { label: 'stopped asking', tone: 'danger' },
  ungoverned: { label: 'no gateway', tone: 'quiet' },
  observed_only: { label: 'only observed', tone: 'quiet' },
  no_telemetry: { label: 'asks, reports no calls', tone: 'quiet' },
  enforced: { label: 'enforced', tone: 'live' },
};
