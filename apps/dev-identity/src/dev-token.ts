/** The program behind `npm run --silent dev-token [-- <email>]`: a bearer token on stdout, and nothing else. */
import { obtainToken, SignInError } from './sign-in.ts';

const USAGE = `Usage: npm run --silent dev-token [-- <email>]

Prints a bearer token of the development identity provider, for admin@example.com unless
an email is given: anyone is signed in as any email. HOST and PORT say where the server listens.
`;

const [email = 'admin@example.com', ...more] = process.argv.slice(2);
const host = process.env['HOST'] || '127.0.0.1';
const port = process.env['PORT'] || '8080';
const server = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

if (email === '--help' || email === '-h') {
  process.stdout.write(USAGE);
  process.exit();
}
if (email.startsWith('-') || more.length > 0) {
  process.stderr.write(USAGE);
  process.exit(2);
}

try {
  const { accessToken } = await obtainToken({ issuer: `${server}/oidc`, email });
  process.stdout.write(`${accessToken}\n`);
} catch (error) {
  process.stderr.write(`dev-token: ${explain(error)}\n`);
  process.exitCode = 1;
}

function explain(error: unknown): string {
  if (!(error instanceof SignInError)) return `the sign-in failed: ${String(error)}`;
  switch (error.code) {
    case 'unreachable':
      return `no server answers at ${server}. Start it with npm start, or set HOST and PORT to where it listens.`;
    case 'no_provider':
      return `the server at ${server} runs without the development identity provider. Start it with QM_DEV_IDENTITY=1.`;
    case 'refused':
      return `the sign-in as ${email} was refused: ${error.message}.`;
  }
}
