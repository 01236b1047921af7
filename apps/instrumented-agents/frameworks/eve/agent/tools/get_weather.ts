import { appendFileSync } from 'node:fs';
import { defineTool } from 'eve/tools';
import { z } from 'zod';

// The build bundles this file, so it imports nothing of the recorder.
const CALL = { kind: 'tool', name: 'get_weather', server: null, runsAt: null, failed: true };

export default defineTool({
  description: 'content-marker-tool-description',
  inputSchema: z.object({ city: z.string() }),
  execute() {
    appendFileSync(process.env['QM_TRUTH_FILE'] ?? '', `${JSON.stringify(CALL)}\n`);
    throw new Error('content-marker-error-text');
  },
});
