import { Kbd, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { PALETTE_KEY } from '../components/palette-key.ts';
import { usePermittedNavigation } from './use-permitted-navigation.ts';
import classes from './help.module.css';

const KEYS: readonly { title: string; keys: readonly (readonly [string, string])[] }[] = [
  {
    title: 'Everywhere',
    keys: [
      [PALETTE_KEY, 'Go to a screen or record, or do something'],
      ['?', 'Show these keys'],
      ['z', 'Undo, where a message offers it'],
      ['Esc', 'Close the panel or dialog'],
    ],
  },
  {
    title: 'In a list',
    keys: [
      ['j', 'Next row'],
      ['k', 'Previous row'],
      ['Enter', 'Open the row, or go to its panel'],
      ['x', 'Select the row'],
      ['/', 'Search'],
    ],
  },
  {
    title: 'In the inbox',
    keys: [
      ['a', 'Approve'],
      ['p', 'Approve and apply, or block'],
      ['r', 'Reject'],
      ['i', 'Ignore'],
    ],
  },
  {
    title: 'In tasks',
    keys: [
      ['c', 'Claim'],
      ['a', 'Approve, adopt or acknowledge'],
      ['r', 'Reject'],
      ['i', 'Ignore'],
      ['d', 'Dismiss'],
    ],
  },
  {
    title: 'In a trace',
    keys: [
      ['n', 'Next error'],
      ['←', 'Close the span’s children'],
      ['→', 'Open the span’s children'],
    ],
  },
];

export function Help({ isOpen, close }: { isOpen: boolean; close: () => void }): ReactNode {
  const entries = usePermittedNavigation().flatMap((group) => group.entries);
  const goTo = { title: 'Go to', keys: entries.map(({ key, label }) => [`g ${key}`, label] as const) };
  return (
    <Modal opened={isOpen} onClose={close} title="Keyboard shortcuts" size="lg">
      <div className={classes.groups}>
        {[...KEYS, goTo].map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, does]) => (
                <div key={key} className={classes.key}>
                  <dt>
                    {key.split(' ').map((part) => (
                      <Kbd key={part} size="xs">
                        {part}
                      </Kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
