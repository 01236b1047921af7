import type { Head } from '@quartermaster/db/repositories/audit-chain.ts';

/** Appends waiting audit events to their tenants' hash chains, and signs the chains. */
export type Sealer = {
  /** Seals all waiting events. Passes of one process run one after the other; several processes may seal concurrently. */
  pass(): Promise<void>;
  /** The head that this process remembers. Call this before reading the chain: a chain that is read later is not shorter. */
  remembered(tenantId: string): RememberedHead | undefined;
  /** Finishes the current batch, and starts no other. */
  stop(): Promise<void>;
};

/** The end of the longest state of a chain that this process has seen. `token` is null if its signature was not verified. */
export type RememberedHead = Pick<Head, 'size' | 'hash'> & { token: string | null };
