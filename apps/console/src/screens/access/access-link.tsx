import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** Leads to what a user, service account or key gave. @param source as the API names it: `user:<id>` */
export function AccessLink({ source, children }: { source: string; children: ReactNode }): ReactNode {
  return (
    <Link to="/access" search={(before) => ({ tenant: before['tenant'], source })}>
      {children}
    </Link>
  );
}
