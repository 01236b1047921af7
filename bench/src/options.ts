import { argumentError, readArguments } from '@quartermaster/api/src/commands/read-arguments.ts';

export type Options = {
  /** Names of the workloads to run; empty: all. */
  only: string[];
  rounds: number;
  /** The duration of one round. */
  seconds: number;
  /** Rows of the large tables. */
  rows: number;
  quick: boolean;
  profile: boolean;
};

const FULL = { rounds: 8, seconds: 3, rows: 10_000_000 };
const QUICK = { rounds: 2, seconds: 0.5, rows: 100_000 };

export const USAGE = `npm run bench -- [--only <workloads>] [--rounds <n>] [--seconds <n>] [--rows <n>] [--quick] [--profile]

Measures the speed of the service, and compares it with what was agreed. docs/measurements.md explains the options.`;

/**
 * @param workloads the names that `--only` may list
 * @throws {ConfigError} for an unknown option or workload, or one that is not a number
 */
export function optionsOf(argv: readonly string[], workloads: readonly string[]): Options | 'help' {
  const specs = {
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    rows: { type: 'string' },
    quick: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  } as const;
  const values = readArguments(USAGE, specs, argv);
  if (values === 'help') return values;
  const usual = values.quick ? QUICK : FULL;
  const positive = (name: 'rounds' | 'seconds' | 'rows') => {
    const value = Number(values[name] ?? usual[name]);
    if (!(value > 0)) throw argumentError(USAGE, `--${name} should be a number above 0`);
    return value;
  };
  const only = values.only.split(',').filter((name) => name !== '');
  const unknown = only.filter((name) => !workloads.includes(name));
  if (unknown.length > 0) {
    throw argumentError(USAGE, `no workload ${unknown.join(', ')}; there are ${workloads.join(', ')}`);
  }
  return {
    only,
    rounds: positive('rounds'),
    seconds: positive('seconds'),
    rows: positive('rows'),
    quick: values.quick,
    profile: values.profile,
  };
}
