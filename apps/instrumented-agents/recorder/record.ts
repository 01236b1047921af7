import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startMcpServer } from '../mcp-server/http.ts';
import { MARKERS } from '../model-server/markers.ts';
import { startModelServer } from '../model-server/server.ts';
import type { RecordingDefinition } from './definition.ts';
import { type RecordedRequest, startOtlpReceiver } from './otlp-receiver.ts';
import { countInto, readTruth, type Truth } from './truth.ts';

export type Recording = {
  framework: string;
  version: string;
  dialects: string[];
  setUp: string;
  requests: RecordedRequest[];
  truth: Truth;
  cannotKnow: string[];
  markers: string[];
};

const TIME_LIMIT_MS = 120_000;
const MCP_OVER_STDIO = fileURLToPath(new URL('../mcp-server/stdio.ts', import.meta.url));

/**
 * Runs a program against the scripted model server and the MCP server, and records what it exports.
 * @param folder where the program and its packages are
 * @throws if the program fails, hangs or sends nothing
 */
export async function record(definition: RecordingDefinition, folder: string): Promise<Recording> {
  const scratch = mkdtempSync(join(tmpdir(), 'recording-'));
  const truthFile = join(scratch, 'truth.jsonl');
  writeFileSync(truthFile, '');
  const receiver = await startOtlpReceiver();
  const models = await startModelServer((event) => countInto(truthFile, event));
  const mcp = definition.mcpOverHttp ? await startMcpServer(truthFile) : null;
  try {
    await promisify(execFile)(process.execPath, [join(folder, definition.program), ...(definition.args ?? [])], {
      cwd: folder,
      timeout: TIME_LIMIT_MS,
      maxBuffer: 64 * 1024 * 1024,
      env: {
        PATH: process.env['PATH'],
        HOME: scratch,
        TMPDIR: scratch,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=recorded',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_SERVICE_NAME: 'weather-service',
        OPENAI_BASE_URL: `${models.url}/v1`,
        OPENAI_API_KEY: 'sk-scripted',
        MODEL_SERVER_URL: models.url,
        MCP_COMMAND: process.execPath,
        MCP_ARGUMENTS: JSON.stringify([MCP_OVER_STDIO, truthFile]),
        ...(mcp && { MCP_URL: mcp.url }),
        QM_TRUTH_FILE: truthFile,
        ...definition.environment,
      },
    });
    if (receiver.requests.length === 0) throw new Error(`${definition.name} sent no telemetry`);
    return {
      framework: definition.framework,
      version: definition.version ?? definition.packages.map((name) => versionOf(name, folder)).join(', '),
      dialects: definition.dialects,
      setUp: definition.setUp,
      requests: receiver.requests,
      truth: readTruth(truthFile),
      cannotKnow: definition.cannotKnow ?? [],
      markers: Object.values(MARKERS),
    };
  } finally {
    await receiver.stop();
    await models.stop();
    await mcp?.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The package's own name and version, because an alias has another name. */
function versionOf(alias: string, folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'node_modules', alias, 'package.json'), 'utf8'));
  return `${manifest.name} ${manifest.version}`;
}
