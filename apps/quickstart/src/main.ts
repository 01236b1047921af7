/** The program behind `npm run quickstart`: a guided run against a server that `npm start` started. */
import { signIn } from './calls.ts';
import { Failure } from './failure.ts';
import { startMcpServer } from './mcp-server.ts';
import { createPage } from './page.ts';

const USAGE = `usage: npm run quickstart

Runs an agent against the server at QM_URL (default: http://127.0.0.1:8080), and shows what the server knows about it.
It creates a new tenant for that.
`;

const [argument] = process.argv.slice(2);
try {
  if (argument === undefined) await run();
  else if (argument === '--help' || argument === '-h') process.stdout.write(USAGE);
  else {
    process.stderr.write(USAGE);
    process.exitCode = 2;
  }
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  const because = error.cause instanceof Error ? `\n(${error.cause.message})` : '';
  process.stderr.write(`\nquickstart: ${error.message}${because}\n`);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const url = serverUrl();
  const page = createPage((text) => process.stdout.write(text));
  const admin = await signIn(url);
  // Loading LangChain takes a second. Without a server the error is printed before it.
  const [{ makeWorld }, { tellStory }] = await Promise.all([import('./world.ts'), import('./story.ts')]);
  const mcp = await startMcpServer();
  try {
    const world = await makeWorld(admin, { url, mcpUrl: mcp.url });
    page.title('Quartermaster: declared against observed');
    page.lines([`A new tenant, ${world.tenantId}, at ${url}.`]);
    await tellStory(page, world);
    page.section('Where to go on');
    page.lines([
      `Every call of this story is in ${url}/docs. To see all of it:`,
      '',
      `  TOKEN=$(${tokenCommand(url)})`,
      '  curl -H "Authorization: Bearer $TOKEN" \\',
      `    "${url}/v1/audit-events?tenant_id=${world.tenantId}"`,
      '',
    ]);
    page.say(
      `For agents of your own, set OTEL_EXPORTER_OTLP_ENDPOINT=${url} and OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<a key with traces:write>. docs/frameworks.md explains how to enable the telemetry of each framework.`,
    );
  } finally {
    await mcp.stop();
  }
}

function serverUrl(): string {
  const given = process.env['QM_URL'] || 'http://127.0.0.1:8080';
  const parsed = URL.parse(given);
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') throw new Failure(`QM_URL is no URL: ${given}`);
  return given.replace(/\/+$/, '');
}

function tokenCommand(url: string): string {
  const { port } = new URL(url);
  return `${port === '8080' ? '' : `PORT=${port} `}npm run --silent dev-token`;
}
