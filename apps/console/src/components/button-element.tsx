import type { ComponentProps, ReactNode } from 'react';

type Props = ComponentProps<'button'> & { 'data-loading'?: boolean };

/**
 * The element of a button. While a button waits for an answer, Mantine disables it, and a browser takes the focus from a disabled
 * button. Keyboards and screen readers would start again at the top of the page. So it keeps the focus, and pressing it does nothing.
 */
export function renderButton({ disabled, ...props }: Props): ReactNode {
  if (props['data-loading'] !== true) return <button {...props} disabled={disabled} />;
  return <button {...props} aria-disabled onClick={(event) => event.preventDefault()} />;
}
