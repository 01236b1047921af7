import * as contract from '@quartermaster/contracts/logs.ts';
import { endpoint, router } from '../../trpc.ts';
import { ingestLogs } from '../ingest/ingest-logs.ts';
import { prepareLogsJson } from '../ingest/prepare-logs.ts';
import { jsonResponse } from '../otlp/json.ts';
import { decodedInput } from '../otlp/typed-input.ts';

export const logsRouter = router({
  /** OTLP comes in through ingest/receiver.ts, which decodes by itself; this is the way of typed callers. */
  ingest: endpoint(contract.ingestLogs).mutation(async ({ ctx, input }) => {
    const refused = await ingestLogs(ctx, async ({ receivedAt }) =>
      decodedInput(() => prepareLogsJson(input.body, receivedAt)),
    );
    return jsonResponse('logs', refused);
  }),
});
