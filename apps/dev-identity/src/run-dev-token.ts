import { obtainToken, SignInError } from './sign-in.ts';

const NPM_SCRIPT = 'npm run --silent dev-token --';

const usageOf = (commandLine: string) => `Usage: ${commandLine} [<email>]

Prints a bearer token of the development identity provider, for admin@example.com unless
an email is given. Set HOST and PORT to the address of the server. It reads the server's secret
from a file, so run it on the same machine, as the user who started the server.
`;

type Output = { write(text: string): unknown };

/** The arguments, environment and output streams of the command. */
export type Invocation = {
  /** Without the program's own path. */
  argv: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  stdout: Output;
  stderr: Output;
  /** How the command is called. */
  commandLine?: string;
};

/** Prints only a bearer token of the development identity provider. @returns the exit code */
export async function runDevToken({ argv, environment, stdout, stderr, ...rest }: Invocation): Promise<number> {
  const { commandLine = NPM_SCRIPT } = rest;
  const [email = 'admin@example.com', ...more] = argv;
  if (email === '--help' || email === '-h') {
    stdout.write(usageOf(commandLine));
    return 0;
  }
  if (email.startsWith('-') || more.length > 0) {
    stderr.write(usageOf(commandLine));
    return 2;
  }
  const host = (environment['HOST'] || '127.0.0.1').replace(/^\[(.*)\]$/, '$1');
  const port = environment['PORT'] || '8080';
  const server = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  try {
    const { accessToken } = await obtainToken({ issuer: `${server}/oidc`, email });
    stdout.write(`${accessToken}\n`);
    return 0;
  } catch (error) {
    stderr.write(`dev-token: ${explain(error, { server, email })}\n`);
    return 1;
  }
}

function explain(error: unknown, { server, email }: { server: string; email: string }): string {
  if (!(error instanceof SignInError)) return `the sign-in failed: ${String(error)}`;
  switch (error.code) {
    case 'unreachable':
      return `no server answers at ${server}. Start it, or set HOST and PORT to where it listens.`;
    case 'no_provider':
      return `the server at ${server} runs without the development identity provider. Start it with QM_DEV_IDENTITY=1.`;
    case 'refused':
      return `the sign-in as ${email} was refused: ${error.message}.`;
  }
}
