import { useNavigate } from '@tanstack/react-router';
import type { MouseEvent, ReactNode } from 'react';
import { useUrlParameter } from '../data/url-state.ts';

/**
 * A link in a row of a table. The router's own link is computed again whenever the address changes: with one in each row, that
 * took a quarter of the time of moving to the next row.
 */
export function RowLink({ path, children }: { path: string; children: ReactNode }): ReactNode {
  const tenant = useUrlParameter('tenant');
  const navigate = useNavigate();
  const search = tenant === undefined ? '' : `?${new URLSearchParams({ tenant }).toString()}`;
  const open = (event: MouseEvent) => {
    const isForBrowser = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (isForBrowser) return;
    event.preventDefault();
    void navigate({ to: path });
  };
  return (
    <a href={`${import.meta.env.BASE_URL.slice(0, -1)}${path}${search}`} onClick={open}>
      {children}
    </a>
  );
}
