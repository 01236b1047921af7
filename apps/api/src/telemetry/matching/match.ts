import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Facts, Use } from '../reading/facts.ts';

/** The part of an interpreted span that matching needs. */
export type MatchableSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  serviceName: string | null;
  facts: Facts;
  uses: Use[];
};

/** The provider that a use belongs to. */
export type Match = {
  provider: Provider;
  /** The name at the provider: the declared name of a tool, whatever spelling the span has. Other names stay as written. */
  name: string;
  /** Whether the provider declares the tool as blocked. */
  isBlocked?: boolean;
  /** Whether a block of the whole tenant took the use from a provider of the sub-tenant. */
  isTenantBlock?: boolean;
};
