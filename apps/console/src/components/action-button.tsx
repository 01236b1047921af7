import type { Scope } from '@quartermaster/client';
import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import { type Place, useMissingScope } from '../data/me.ts';

type Props = Omit<ButtonProps, 'disabled'> & {
  /** What the caller needs for it; null: nothing. */
  scope: Scope | null;
  place?: Place;
  /** Any other reason why it cannot be pressed. */
  disabledReason?: string | null;
  /** The key that does the same. */
  shortcut?: string;
  children: ReactNode;
  onClick: () => void;
};

/** A button that says why it cannot be pressed, also to the keyboard and to screen readers. */
export function ActionButton({
  scope,
  place,
  disabledReason,
  shortcut,
  children,
  onClick,
  ...props
}: Props): ReactNode {
  const missing = useMissingScope(scope, place);
  const reason = disabledReason ?? missing;
  const id = useId();
  const button = (
    <Button
      {...props}
      {...(reason !== null && { 'data-disabled': true, 'aria-disabled': true, 'aria-describedby': id })}
      {...(shortcut !== undefined && { 'aria-keyshortcuts': shortcut })}
      onClick={() => {
        if (reason === null) onClick();
      }}
    >
      {children}
    </Button>
  );
  if (reason === null) return button;
  return (
    <Tooltip label={reason}>
      <span>
        {button}
        <span id={id} className="visually-hidden">
          {reason}
        </span>
      </span>
    </Tooltip>
  );
}
