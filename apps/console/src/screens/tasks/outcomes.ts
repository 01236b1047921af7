import type { OperatorTask, Scope, TaskOutcome } from '@quartermaster/client';

type Choice = { outcome: TaskOutcome; key?: string; label: string; consequence: string };

/** What a task of each kind can be completed with, and the scope that this needs besides `operator_tasks:write`. */
export const OUTCOMES: Record<OperatorTask['kind'], { scope: Scope | null; choices: readonly Choice[] }> = {
  review_observation: {
    scope: 'runtime_observations:review',
    choices: [
      { outcome: 'approved', key: 'a', label: 'Approve', consequence: 'Nothing changes until it is applied.' },
      { outcome: 'rejected', key: 'r', label: 'Reject', consequence: 'The next use recommends a block.' },
      {
        outcome: 'ignored',
        key: 'i',
        label: 'Ignore',
        consequence: 'It stays unknown, and further calls do not bring it back.',
      },
    ],
  },
  investigate_blocked_use: {
    scope: 'runtime_observations:review',
    choices: [
      { outcome: 'acknowledged', key: 'a', label: 'Acknowledge', consequence: 'A use after a day opens a new task.' },
    ],
  },
  adopt_provider: {
    scope: 'recommendations:apply',
    choices: [
      { outcome: 'adopted', key: 'a', label: 'Adopt', consequence: 'The provider becomes a declared one.' },
      { outcome: 'dismissed', key: 'd', label: 'Dismiss', consequence: 'It stays discovered.' },
    ],
  },
  rotate_credential: {
    scope: 'credentials:write',
    choices: [
      { outcome: 'rotated', label: 'It is rotated', consequence: 'Refused as long as the old one ends soon.' },
      { outcome: 'dismissed', key: 'd', label: 'Dismiss', consequence: 'The credential expires as planned.' },
    ],
  },
  review_cardinality: {
    scope: 'runtime_observations:review',
    choices: [
      {
        outcome: 'pruned',
        label: 'Prune',
        consequence: 'Removes open observations that are neither declared nor reviewed.',
      },
      { outcome: 'acknowledged', key: 'a', label: 'Acknowledge', consequence: 'Nothing changes.' },
    ],
  },
  review_telemetry: {
    scope: 'runtime_observations:review',
    choices: [{ outcome: 'acknowledged', key: 'a', label: 'Acknowledge', consequence: 'Nothing changes.' }],
  },
  review_mcp_server: {
    scope: 'providers:write',
    choices: [{ outcome: 'acknowledged', key: 'a', label: 'Acknowledge', consequence: 'Nothing changes.' }],
  },
  investigate_bypass: {
    scope: 'runtime_observations:review',
    choices: [
      { outcome: 'acknowledged', key: 'a', label: 'Acknowledge', consequence: 'No further task asks about the two.' },
    ],
  },
  sync_inventory: { scope: null, choices: [] },
};
