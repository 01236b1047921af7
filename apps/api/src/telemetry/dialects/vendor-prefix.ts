import { canonicalVendor } from '@quartermaster/db/vendors.ts';
import type { Facts } from './facts.ts';

/** Splits LiteLLM's `openai/gpt-5-mini`. Only a known vendor is removed, and only if the span names no other vendor. */
export function splitVendorPrefix(facts: Facts): void {
  const [, prefix = '', model = ''] = /^([^/]+)\/(.+)$/.exec(facts.model ?? '') ?? [];
  const vendor = canonicalVendor(prefix);
  if (vendor === null || (facts.vendor !== null && facts.vendor !== vendor)) return;
  facts.vendor = vendor;
  facts.model = model;
}
