import type { Database } from '@quartermaster/db/database.ts';
import type { PageKey } from '@quartermaster/db/queries.ts';
import { listSpans } from '@quartermaster/db/repositories/spans.ts';
import { expandStoredJson } from '@quartermaster/db/stored-json.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';

type Span = NonNullable<Awaited<ReturnType<typeof listSpans>>>['items'][number];

/** All spans of a tenant, read from their blocks. */
export async function storedSpansOf(db: Database, tenantId: string): Promise<Span[]> {
  const traces = await db.selectFrom('traces').select('trace_id').where('tenant_id', '=', tenantId).execute();
  const spans: Span[] = [];
  for (const { trace_id: traceId } of traces) {
    let after: PageKey | null = null;
    do {
      const page = await listSpans(db, wholeTenant(tenantId), traceId, { limit: 1000, after });
      spans.push(...(expandStoredJson(page?.items ?? []) as Span[]));
      after = page?.next ?? null;
    } while (after !== null);
  }
  return spans;
}
