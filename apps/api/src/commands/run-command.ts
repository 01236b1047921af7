import { type ParseArgsConfig, parseArgs } from 'node:util';
import { ConfigError } from '../config.ts';
import { reportFailure } from '../failures.ts';

export type CommandLine<Option extends string> = {
  /** The line, and what it does. */
  usage: string;
  /** Each has to be given, with a value. */
  options: readonly Option[];
};

/** What was given may hold a password: it is not repeated. */
const FAULTS: Record<string, string> = {
  ERR_PARSE_ARGS_UNKNOWN_OPTION: 'there is no such option',
  ERR_PARSE_ARGS_INVALID_OPTION_VALUE: 'an option is without its value, or has one that it does not take',
  ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL: 'there is an argument too many',
};

/** Runs a command with its options. `--help` says how it is used; whatever else is given is refused before it begins. */
export async function runCommand<Option extends string>(
  line: CommandLine<Option>,
  run: (given: Record<Option, string>) => Promise<void>,
): Promise<void> {
  try {
    const given = read(line);
    if (given === 'help') process.stdout.write(`usage: ${line.usage}\n`);
    else await run(given);
  } catch (error) {
    reportFailure(error);
  }
}

function read<Option extends string>({ usage, options }: CommandLine<Option>): Record<Option, string> | 'help' {
  const refusal = (fault: string) => new ConfigError(`${fault}: usage: ${usage.split('\n')[0]}`);
  const known: NonNullable<ParseArgsConfig['options']> = { help: { type: 'boolean', short: 'h' } };
  for (const name of options) known[name] = { type: 'string' };
  try {
    const { values } = parseArgs({ options: known });
    if (values['help'] === true) return 'help';
    const missing = options.find((name) => !values[name]);
    if (missing !== undefined) throw refusal(`--${missing} is missing`);
    return values as Record<Option, string>;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const fault = FAULTS[code];
    throw fault === undefined ? error : refusal(fault);
  }
}
