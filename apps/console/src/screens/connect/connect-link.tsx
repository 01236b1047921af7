import type { ReactNode } from 'react';
import { RowLink } from '../../components/row-link.tsx';

/** Leads from an empty screen to where an agent is connected. */
export function ConnectLink(): ReactNode {
  return <RowLink path="/connect">Connect an agent</RowLink>;
}
