import type { Scope } from '@quartermaster/client';
import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import { memo, type ReactNode, useId, useRef } from 'react';
import { useMissingScope } from '../data/me.ts';
import type { Place } from '../data/rights.ts';
import { useLatestHandler } from './use-latest-handler.ts';
import { usePassOnFocus } from './use-return-focus.ts';

type Props = Omit<ButtonProps, 'disabled'> & {
  /** What the caller needs for it; null: nothing. */
  scope: Scope | null;
  place?: Place;
  /** Any other reason why it cannot be pressed. */
  disabledReason?: string | null;
  /** The key that does the same. */
  shortcut?: string;
  /** Whether the second click of a double click counts, too. */
  isRepeatable?: boolean;
  /** Whether it ends something. Such a button comes first in its row, and styles keep it apart from the others. */
  isDanger?: boolean;
  children: ReactNode;
  onClick: () => void;
};

/** A button that says why it cannot be pressed, also to the keyboard and to screen readers. */
export function ActionButton({
  scope,
  place,
  disabledReason,
  shortcut,
  isRepeatable = false,
  isDanger = false,
  children,
  onClick,
  ...props
}: Props): ReactNode {
  const missing = useMissingScope(scope, place);
  const reason = disabledReason ?? missing;
  const press = useLatestHandler(() => {
    if (reason === null) onClick();
  });
  return (
    <ButtonWithReason
      {...props}
      {...(isDanger && { variant: 'default', className: 'qm-danger' })}
      reason={reason}
      shortcut={shortcut}
      isRepeatable={isRepeatable}
      press={press}
    >
      {children}
    </ButtonWithReason>
  );
}

type ButtonWithReasonProps = ButtonProps & {
  reason: string | null;
  shortcut: string | undefined;
  isRepeatable: boolean;
  press: () => void;
  children: ReactNode;
};

/** Memoised, because a panel with several buttons is drawn again for each row that the user moves to. */
const ButtonWithReason = memo(function ButtonWithReason(props: ButtonWithReasonProps): ReactNode {
  const { reason, shortcut, isRepeatable, press, children, ...rest } = props;
  const id = useId();
  const element = useRef<HTMLButtonElement>(null);
  usePassOnFocus(element);
  const button = (
    <Button
      {...rest}
      ref={element}
      {...(reason !== null && { 'data-disabled': true, 'aria-disabled': true, 'aria-describedby': id })}
      {...(shortcut !== undefined && { 'aria-keyshortcuts': shortcut, rightSection: keyMark(shortcut) })}
      onClick={({ detail }) => {
        // The second click of a double click would take back what the first one did: the button may mean the opposite by then.
        if (detail < 2 || isRepeatable) press();
      }}
    >
      {children}
    </Button>
  );
  // The same elements with and without a reason: a button that ends what it is about keeps the focus.
  return (
    <Tooltip label={reason} disabled={reason === null}>
      <span>
        {button}
        {reason !== null && (
          <span id={id} className="visually-hidden">
            {reason}
          </span>
        )}
      </span>
    </Tooltip>
  );
});

/** Shows a key on a button. Screen readers get it by an attribute of the button. */
function keyMark(key: string): ReactNode {
  return (
    <kbd className="qm-key" aria-hidden="true">
      {key}
    </kbd>
  );
}
