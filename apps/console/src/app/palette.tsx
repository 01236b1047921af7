import type { Scope } from '@quartermaster/client';
import { Modal, useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { useSignOut } from '../components/use-sign-out.ts';
import { useMe } from '../data/me.ts';
import { holdsWithin } from '../data/rights.ts';
import { useProviders } from '../data/names.ts';
import { useUrlState } from '../data/url-state.ts';
import { useFound, useOpen } from './found-commands.ts';
import classes from './palette.module.css';
import { useTenants } from './tenant-switcher.tsx';
import { usePermittedNavigation } from './use-permitted-navigation.ts';

type Command = {
  id: string;
  group: string;
  label: string;
  hint?: string;
  /** What the caller needs for it. Without it the palette does not offer it. */
  scope?: Scope;
  run: () => void;
};

const MAX_SHOWN = 40;

type Props = { isOpen: boolean; close: () => void; openHelp: () => void };

/** Every screen, record and general action by a few letters of its name, and records by their id. */
export function Palette({ isOpen, close, openHelp }: Props): ReactNode {
  return (
    // No transition: it would show the field two frames late, and the letters typed until then would be taken for shortcuts.
    <Modal.Root
      opened={isOpen}
      onClose={close}
      yOffset="12vh"
      centered={false}
      size={560}
      transitionProps={{ duration: 0 }}
    >
      <Modal.Overlay />
      <Modal.Content aria-label="Command palette">
        <Modal.Body p={0}>{isOpen && <PaletteBody close={close} openHelp={openHelp} />}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function PaletteBody({ close, openHelp }: Omit<Props, 'isOpen'>): ReactNode {
  const [text, setText] = useState('');
  const [activeIndex, setActiveIndex] = useState(0);
  const commands = useCommands(openHelp);
  const listId = useId();
  const records = useFound(text);
  const open = useOpen();
  const found: Command[] = [
    ...commands.filter(({ label, group }) => matches(`${label} ${group}`, text)),
    ...records.found.map(({ target, ...record }) => ({ ...record, run: () => open(target) })),
  ].slice(0, MAX_SHOWN);
  const active = found[Math.min(activeIndex, found.length - 1)];
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setActiveIndex(Math.max(0, Math.min(found.length - 1, activeIndex + step)));
    }
    if (event.key === 'Enter') run(active);
  };
  return (
    <div onKeyDown={onKeyDown}>
      <input
        className={classes.input}
        placeholder="Screen, action, or name or id of a record"
        role="combobox"
        aria-label="Command"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={active === undefined ? undefined : `${listId}-${active.id}`}
        // The dialog itself moves the focus only later.
        ref={focusOn}
        data-autofocus
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setActiveIndex(0);
        }}
      />
      <ul id={listId} role="listbox" aria-label="Commands" className={classes.list}>
        {found.map((command) => (
          <li
            key={command.id}
            id={`${listId}-${command.id}`}
            role="option"
            aria-selected={command === active}
            className={classes.command}
            ref={(element) => {
              if (command === active) element?.scrollIntoView({ block: 'nearest' });
            }}
            onClick={() => run(command)}
          >
            <span className="grow truncate">{command.label}</span>
            <span className="dim">{command.hint ?? command.group}</span>
          </li>
        ))}
      </ul>
      <p className={classes.nothing} role="status">
        {statusOf(records, found.length)}
      </p>
    </div>
  );
}

function statusOf({ isSearching, hasFailed }: ReturnType<typeof useFound>, count: number): string | null {
  if (isSearching) return 'Searching records…';
  if (hasFailed) return 'Some records could not be searched.';
  return count === 0 ? 'Nothing has this name.' : null;
}

function focusOn(element: HTMLElement | null): void {
  element?.focus();
}

function useCommands(openHelp: () => void): Command[] {
  const navigate = useNavigate();
  const [{ tenant }, setState] = useUrlState();
  const { setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  const tenants = useTenants();
  const { list: providers } = useProviders();
  const me = useMe();
  const screens = usePermittedNavigation()
    .flatMap(({ entries }) => entries)
    .map(({ path, label, key }) => ({
      id: `screen-${key}`,
      group: 'Screen',
      label,
      hint: `g ${key}`,
      run: () => void navigate({ to: path }),
    }));
  const commands: Command[] = [
    ...screens,
    { id: 'connect', group: 'Action', label: 'Connect an agent', run: () => void navigate({ to: '/connect' }) },
    {
      id: 'new-provider',
      group: 'Action',
      label: 'Declare a provider',
      scope: 'providers:write',
      run: () => void navigate({ to: '/providers', search: { new: '1' } }),
    },
    {
      id: 'new-account',
      group: 'Action',
      label: 'Create a service account',
      scope: 'service_accounts:write',
      run: () => void navigate({ to: '/accounts', search: { new: '1' } }),
    },
    {
      id: 'new-key',
      group: 'Action',
      label: 'Create a key: choose its account',
      scope: 'credentials:write',
      run: () => void navigate({ to: '/accounts' }),
    },
    {
      id: 'invite',
      group: 'Action',
      label: 'Invite a person',
      scope: 'memberships:write',
      run: () => void navigate(tenant === undefined ? { to: '/tenants' } : invitation(tenant)),
    },
    {
      id: 'new-tenant',
      group: 'Action',
      label: 'Create a tenant',
      scope: 'tenants:write',
      run: () => void navigate({ to: '/tenants', search: { new: '1' } }),
    },
    {
      id: 'new-gateway',
      group: 'Action',
      label: 'Create a gateway',
      scope: 'gateways:write',
      run: () => void navigate({ to: '/gateways', search: { new: '1' } }),
    },
    {
      id: 'new-manifest',
      group: 'Action',
      label: 'Write a manifest',
      scope: 'manifests:write',
      run: () => void navigate({ to: '/manifests', search: { new: '1' } }),
    },
    {
      id: 'keys-expiring',
      group: 'View',
      label: 'Keys that expire this week',
      scope: 'credentials:read',
      run: () => void navigate({ to: '/accounts', search: { view: 'expiring' } }),
    },
    {
      id: 'errors',
      group: 'View',
      label: 'Traces with errors',
      scope: 'traces:read',
      run: () => void navigate({ to: '/traces', search: { errors: '1' } }),
    },
    {
      id: 'applied',
      group: 'View',
      label: 'Applied changes, to undo one',
      scope: 'recommendations:read',
      run: () => void navigate({ to: '/changes', search: { view: 'applied' } }),
    },
    {
      id: 'access',
      group: 'Screen',
      label: 'Derived access, offboarding',
      scope: 'credentials:read',
      run: () => void navigate({ to: '/access' }),
    },
    { id: 'profile', group: 'Screen', label: 'Profile and sessions', run: () => void navigate({ to: '/profile' }) },
    { id: 'dark', group: 'Action', label: 'Use dark colours', run: () => setColorScheme('dark') },
    { id: 'light', group: 'Action', label: 'Use light colours', run: () => setColorScheme('light') },
    { id: 'help', group: 'Action', label: 'Show keyboard shortcuts', hint: '?', run: openHelp },
    { id: 'sign-out', group: 'Action', label: 'Sign out', run: signOut },
    {
      id: 'all-tenants',
      group: 'Tenant',
      label: 'Show all tenants',
      run: () => setState({ tenant: undefined }, { push: true }),
    },
    ...tenants.map(({ id, displayName }) => ({
      id: `tenant-${id}`,
      group: 'Tenant',
      label: `Switch to ${displayName ?? id}`,
      run: () => setState({ tenant: id }, { push: true }),
    })),
    ...providers.map(({ id, name, displayName }) => ({
      id: `provider-${id}`,
      group: 'Provider',
      label: displayName ?? name,
      run: () => void navigate({ to: '/providers/$providerId', params: { providerId: id } }),
    })),
  ];
  return commands.filter(({ scope }) => scope === undefined || holdsWithin(me, scope));
}

function invitation(tenantId: string) {
  return { to: '/tenants/$tenantId' as const, params: { tenantId }, search: { new: '1' } };
}

/** Whether every word of what was typed occurs. */
function matches(label: string, typed: string): boolean {
  const lower = label.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
