import type { Scope } from '@quartermaster/client';
import type { IconName } from '../components/icons.tsx';

type Entry = {
  path: string;
  label: string;
  icon: IconName;
  /** What the screen reads. Without it no menu has the entry, and its address shows what is missing. */
  scope: Scope;
  /** The key after `g`. */
  key: string;
};

export const NAVIGATION: readonly { title: string; entries: readonly Entry[] }[] = [
  {
    title: 'Decide',
    entries: [
      { path: '/inbox', label: 'Inbox', icon: 'inbox', scope: 'runtime_observations:read', key: 'i' },
      { path: '/changes', label: 'Changes', icon: 'change', scope: 'recommendations:read', key: 'c' },
      { path: '/tasks', label: 'Tasks', icon: 'task', scope: 'operator_tasks:read', key: 'k' },
    ],
  },
  {
    title: 'Observe',
    entries: [
      { path: '/agents', label: 'Agents', icon: 'agent', scope: 'runtime_observations:read', key: 'a' },
      { path: '/map', label: 'Map', icon: 'map', scope: 'runtime_observations:read', key: 'm' },
      { path: '/usage', label: 'Usage', icon: 'usage', scope: 'usage:read', key: 'o' },
      { path: '/coverage', label: 'Coverage', icon: 'check', scope: 'usage:read', key: 'v' },
      { path: '/traces', label: 'Traces', icon: 'trace', scope: 'traces:read', key: 't' },
    ],
  },
  {
    title: 'Declare',
    entries: [
      { path: '/providers', label: 'Providers', icon: 'provider', scope: 'providers:read', key: 'p' },
      { path: '/manifests', label: 'Manifests', icon: 'manifest', scope: 'manifests:read', key: 'f' },
      { path: '/gateways', label: 'Gateways', icon: 'gateway', scope: 'gateways:read', key: 'w' },
    ],
  },
  {
    title: 'Administer',
    entries: [
      { path: '/accounts', label: 'Accounts and keys', icon: 'key', scope: 'service_accounts:read', key: 's' },
      { path: '/people', label: 'People', icon: 'person', scope: 'users:read', key: 'e' },
      { path: '/tenants', label: 'Tenants, members', icon: 'tenant', scope: 'tenants:read', key: 'n' },
      { path: '/audit', label: 'Audit', icon: 'audit', scope: 'audit_events:read', key: 'u' },
    ],
  },
];
