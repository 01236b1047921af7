import { type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Icon } from '../components/icons.tsx';
import { useSignOut } from '../components/use-sign-out.ts';
import { BASE_PATH } from '../data/base-path.ts';
import { useMe } from '../data/me.ts';
import classes from './user-menu.module.css';

const SCHEMES = [
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
  { value: 'auto', label: 'As the system' },
] as const;

export function UserMenu({ openHelp }: { openHelp: () => void }): ReactNode {
  const me = useMe();
  const signOut = useSignOut();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const name = me.displayName ?? me.email ?? me.id;
  return (
    <Menu position="top-start" width={200}>
      <Menu.Target>
        <button type="button" className={classes.target}>
          <span className={classes.initial} aria-hidden="true">
            {name.slice(0, 1).toUpperCase()}
          </span>
          <span className="truncate grow">{name}</span>
          <span className="visually-hidden">account and settings</span>
          <Icon name="more" />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to="/profile">
          Profile and sessions
        </Menu.Item>
        <Menu.Item onClick={openHelp}>Keyboard shortcuts</Menu.Item>
        <Menu.Item component="a" href={`${BASE_PATH}/docs`} target="_blank">
          API reference
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Appearance</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(value) => setColorScheme(value as MantineColorScheme)}>
          {SCHEMES.map(({ value, label }) => (
            <Menu.RadioItem key={value} value={value} checkIcon={<Icon name="check" size={14} />}>
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item onClick={signOut}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
