import { CloseButton } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ApiProblem } from '../data/problem.ts';
import { Failed } from './states.tsx';
import classes from './side-panel.module.css';

type Props = {
  label: string;
  heading: ReactNode;
  close: () => void;
  /** Beside the button that closes it. */
  actions?: ReactNode;
  footer?: ReactNode;
  children: ReactNode;
};

/** A screen has at most one. */
const SIDE_PANEL_ID = 'side-panel';

/** Moves the focus to the panel, if one is open: without it, its buttons would be behind all links and rows of the page. */
export function focusSidePanel(): void {
  document.getElementById(SIDE_PANEL_ID)?.focus();
}

/** Details beside a list. It is not a dialog: the list stays usable. */
export function SidePanel({ label, heading, close, actions, footer, children }: Props): ReactNode {
  return (
    <aside id={SIDE_PANEL_ID} tabIndex={-1} className={classes.panel} aria-label={label}>
      <header className={classes.header}>
        <div className="grow">{heading}</div>
        {actions}
        <CloseButton aria-label="Close panel" onClick={close} />
      </header>
      <div className={classes.body} tabIndex={0} role="region" aria-label={`${label}, details`}>
        {children}
      </div>
      {footer !== undefined && <footer className={classes.footer}>{footer}</footer>}
    </aside>
  );
}

/** The panel of a record that could not be read. */
export function FailedPanel({ label, problem, close }: Pick<Props, 'label' | 'close'> & { problem: ApiProblem }) {
  return (
    <SidePanel label={label} heading={<h2>{label}</h2>} close={close}>
      <Failed problem={problem} />
    </SidePanel>
  );
}

export function Section({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <section className={classes.section}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Names and values, one below the other. Values without content are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className={classes.facts}>
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
