import * as contract from '@quartermaster/contracts/logs.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { ingestLogs } from '../ingest/ingest-logs.ts';
import { prepareLogsJson } from '../ingest/prepare-logs.ts';
import { jsonResponse } from '../otlp/json.ts';
import { decodedInput } from '../otlp/typed-input.ts';

export const logsRouter = router({
  /** For typed tRPC callers. OTLP/HTTP requests are handled by ingest/receiver.ts. */
  ingest: endpoint(contract.ingestLogs).mutation(async ({ ctx, input }) => {
    const refused = await ingestLogs(ctx, async ({ receivedAt }) =>
      decodedInput(() => prepareLogsJson(input.body, receivedAt)),
    );
    return jsonResponse('logs', refused);
  }),
});
