import { findTenantSettings } from '@quartermaster/db/repositories/tenants.ts';
import { principalName } from '../../auth/principal.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import type { PreparedSpan } from './prepare.ts';
import type { PreparedTraces } from './prepare-body.ts';
import { unreadOf } from './scope-counts.ts';
import { type IngestContext, noteRejected, placeOfSender } from './sender.ts';
import type { Records } from './serialized-records.ts';
import { type Refused, type SpansToStore, storeSpans } from './store-spans.ts';

/**
 * Ingests the spans of a request. The tenant is that of the credential. Nothing in the spans can change it.
 *
 * @param prepare reads the spans, with or without content as the tenant's settings say
 * @returns what was refused, or null
 */
export async function ingestSpans(
  ctx: IngestContext,
  prepare: (options: { keepContent: boolean }) => Promise<PreparedTraces<Records<PreparedSpan>>>,
  store = async (spans: SpansToStore): Promise<Refused> => (await storeSpans(ctx.services, spans)).refused,
): Promise<PartialSuccess | null> {
  const { db, metrics, telemetry } = ctx.services;
  const place = placeOfSender(ctx.principal);
  const settings = await findTenantSettings(db, place.tenantId);
  const prepared = await prepare({ keepContent: settings.captureContent });
  const { spans, texts, scopes } = prepared;
  const refused = await store({ place, sender: principalName(ctx.principal), settings, spans, texts });
  metrics.spans.inc({ outcome: 'rejected' }, prepared.rejected);
  metrics.unreadRecords.inc({ signal: 'traces' }, unreadOf(scopes));
  telemetry.accounts.note(ctx.principal, place, scopes);
  const rejected = prepared.rejected + refused.count;
  if (rejected === 0) return null;
  return noteRejected(ctx, place, { rejected, reasons: [...new Set([...prepared.reasons, ...refused.reasons])] });
}
