import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ConfigError } from '../config.ts';

type OptionSpecs = NonNullable<ParseArgsConfig['options']>;

/** Error messages for the codes of `parseArgs`, whose own messages repeat the arguments, which may contain a password. */
const FAULTS: Record<string, string> = {
  ERR_PARSE_ARGS_UNKNOWN_OPTION: 'unknown option',
  ERR_PARSE_ARGS_INVALID_OPTION_VALUE: 'an option has no value, or a value that it does not accept',
  ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL: 'too many arguments',
};

/**
 * Parses the arguments of a command, which takes `--help` besides its own options.
 *
 * @throws {ConfigError} with the command line of the usage
 */
export function readArguments<const Specs extends OptionSpecs>(
  usage: string,
  specs: Specs,
  argv: readonly string[],
): ReturnType<typeof parseArgs<{ options: Specs }>>['values'] | 'help' {
  try {
    const options: OptionSpecs = { ...specs, help: { type: 'boolean', short: 'h' } };
    const { values } = parseArgs({ args: [...argv], options });
    return values['help'] === true ? 'help' : (values as ReturnType<typeof parseArgs<{ options: Specs }>>['values']);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const fault = FAULTS[code];
    throw fault === undefined ? error : argumentError(usage, fault);
  }
}

/** An error whose message ends with the command line of the usage. */
export function argumentError(usage: string, fault: string): ConfigError {
  return new ConfigError(`${fault}: usage: ${usage.split('\n')[0]}`);
}

/**
 * Reads the arguments of this process. Ends it for `--help`, with the usage, and for wrong arguments, with exit code 2.
 *
 * @param read returns the options, or `help`
 * @throws only bugs
 */
export function argumentsOrExit<Options>(
  usage: string,
  read: (argv: readonly string[]) => Options | 'help',
): Exclude<Options, 'help'> {
  try {
    const options = read(process.argv.slice(2));
    if (options !== 'help') return options as Exclude<Options, 'help'>;
    process.stdout.write(`usage: ${usage}\n`);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
