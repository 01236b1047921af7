import { parseArgs } from 'node:util';
import { ConfigError, type StartMode, VERSION } from '../config.ts';

const USAGE = `Usage: main.ts [--development | --production]

Starts the service. Environment variables configure it: docs/configuration.md lists them.

  --development  as npm start: defaults for one person at this machine, with the development identity provider
  --production   as npm run serve: requires QM_OIDC_ISSUER, and refuses the development identity provider
  --help, -h     prints this
  --version, -v  prints the version
`;

/** What the arguments request: a start in a mode, or a text to print instead. */
export type Arguments = { mode: StartMode; text: null } | { mode: null; text: string };

/** @throws {ConfigError} for an unknown argument, without repeating it, because it may be a secret */
export function readArguments(argv: readonly string[]): Arguments {
  const { help, version, development, production } = parsed(argv);
  if (help) return { mode: null, text: USAGE };
  if (version) return { mode: null, text: `${VERSION}\n` };
  if (development && production) throw refusal('--development and --production exclude each other');
  if (production) return { mode: 'production', text: null };
  return { mode: development ? 'development' : null, text: null };
}

function parsed(argv: readonly string[]) {
  const option = { type: 'boolean', default: false } as const;
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        development: option,
        production: option,
        help: { ...option, short: 'h' },
        version: { ...option, short: 'v' },
      },
    });
    return values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw refusal('unknown argument');
  }
}

function refusal(fault: string): ConfigError {
  return new ConfigError(`${fault}: ${USAGE.split('\n')[0]?.toLowerCase()}`);
}
