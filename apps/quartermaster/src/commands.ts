/** The commands of the package, in the order in which the help lists them. */
export const COMMANDS = {
  dev: 'serves on this machine, with a sign-in for everybody who uses it; what `npx quartermaster` alone does',
  serve: 'serves in production: needs QM_OIDC_ISSUER, or QM_OIDC_ISSUER=none for API keys alone',
  seed: 'fills a running server with the data of a made-up company, or removes it again',
  doctor: 'says what is wrong with an installation, a server, a key or an exporter, and what to do',
  backup: 'copies the embedded database to a file while the server runs',
  migrate: 'moves the data to another database. The server updates the schema itself when it starts',
  'admin-key': 'prints a new API key of the first platform administrator',
  'dev-token': 'prints a bearer token of the development sign-in',
  'remove-development-users': 'prepares the database of `dev` for production',
  healthcheck: 'asks the server on this machine whether it is ready; exit code 0 or 1',
} as const;

type CommandName = keyof typeof COMMANDS;

export type PackageCommand = {
  /** Null for a name that is no command. */
  name: CommandName | 'help' | 'version' | null;
  argv: readonly string[];
  /** Whether it serves requests. */
  isServer: boolean;
};

const SYNONYMS: ReadonlyMap<string, 'help' | 'version'> = new Map([
  ['help', 'help'],
  ['--help', 'help'],
  ['-h', 'help'],
  ['version', 'version'],
  ['--version', 'version'],
  ['-v', 'version'],
]);

/** Reads the command. Without one it is `dev`, which is safe because it serves only this machine. */
export function readCommand([first = 'dev', ...argv]: readonly string[]): PackageCommand {
  const name = isCommand(first) ? first : (SYNONYMS.get(first) ?? null);
  const isServer = (name === 'dev' || name === 'serve') && argv.length === 0;
  return { name, argv, isServer };
}

export function helpText(version: string): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, about]) => `  ${name.padEnd(width)}  ${about}`);
  return `Quartermaster ${version}: shows what your AI agents really use, and lets you decide about it.

usage: npx quartermaster [<command>]

${lines.join('\n')}

Data: ./quartermaster-data, or the folder that QM_DATA_DIR names. DATABASE_URL names another database.
\`<command> --help\` describes one command.
`;
}

function isCommand(text: string): text is CommandName {
  return Object.hasOwn(COMMANDS, text);
}
