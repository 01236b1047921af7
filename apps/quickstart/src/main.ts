/** The program behind `npm run quickstart`: a guided run against a server that `npm start` started. */
import { signIn } from './calls.ts';
import { Failure } from './failure.ts';
import { startMcpServer } from './mcp-server.ts';
import { createPage } from './page.ts';

const USAGE = `usage: npm run quickstart

Runs an agent against the server at QM_URL (default: http://127.0.0.1:8080, or the PORT of npm start), shows what the server knows about it, and has a gateway deny and allow a call.
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
  const [{ makeWorld }, { tellStory }, { showEnforcement }] = await Promise.all([
    import('./world.ts'),
    import('./story.ts'),
    import('./enforcement.ts'),
  ]);
  const mcp = await startMcpServer();
  try {
    const world = await makeWorld(admin, { url, mcpUrl: mcp.url });
    page.title('Quartermaster: declared against observed');
    page.lines([`A new tenant, ${world.tenantId}, at ${url}.`]);
    await tellStory(page, world);
    await showEnforcement(page, world);
    page.section('Where to go on');
    page.say(
      `Every call of this story is in ${url}/docs. To connect an agent of your own, open ${url}/console/connect: it has the lines for each framework. To see what the story left behind, open the web console. If it asks who you are, use the link that npm start printed:`,
    );
    page.lines(['', `  ${url}/console/inbox?tenant=${world.tenantId}&view=all`]);
  } finally {
    await mcp.stop();
  }
}

function serverUrl(): string {
  const given = process.env['QM_URL'] || `http://127.0.0.1:${process.env['PORT'] || '8080'}`;
  const parsed = URL.parse(given);
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') throw new Failure(`QM_URL is no URL: ${given}`);
  return given.replace(/\/+$/, '');
}
