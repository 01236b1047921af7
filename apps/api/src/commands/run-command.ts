import { describeFailure } from '../server/failures.ts';
import { argumentError, readArguments } from './read-arguments.ts';

/** The arguments, environment and output streams of a command. */
export type Invocation = {
  /** Without the program's own path. */
  argv: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
};

export type Command<Option extends string> = {
  /** The command line, and what the command does. */
  usage: string;
  /** The names of the options. Each is required and takes a value. */
  options: readonly Option[];
  /** Returns the exit code. */
  run: (given: Record<Option, string>) => Promise<number>;
};

/** The invocation of the program that this process runs. */
export function processInvocation(): Invocation {
  return {
    argv: process.argv.slice(2),
    environment: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
  };
}

/**
 * Parses the arguments and runs the command. `--help` prints the usage instead.
 *
 * @returns the exit code, for instance 2 for invalid arguments
 * @throws only bugs
 */
export async function runCommand<Option extends string>(
  command: Command<Option>,
  { argv, stdout, stderr }: Invocation,
): Promise<number> {
  try {
    const given = parseOptions(command, argv);
    if (given !== 'help') return await command.run(given);
    stdout.write(`usage: ${command.usage}\n`);
    return 0;
  } catch (error) {
    const { message, exitCode } = describeFailure(error);
    stderr.write(`${message}\n`);
    return exitCode;
  }
}

function parseOptions<Option extends string>(
  { usage, options }: Command<Option>,
  argv: readonly string[],
): Record<Option, string> | 'help' {
  const specs = Object.fromEntries(options.map((name) => [name, { type: 'string' as const }]));
  const values = readArguments(usage, specs, argv);
  if (values === 'help') return values;
  const missing = options.find((name) => !values[name]);
  if (missing !== undefined) throw argumentError(usage, `--${missing} is missing`);
  return values as Record<Option, string>;
}
