import { argumentError, argumentsOrExit, readArguments } from '@quartermaster/api/src/commands/read-arguments.ts';
import { PARTS } from './parts.ts';
import { printTable, writeReport } from './report.ts';

const USAGE = `npm run torture -- [--short] [--only <parts>] [--loops <number>] [--seed <number>]

Runs the parts of the torture suite one after the other, and prints which promises held. Exit code 1 if one is broken.
The parts, comma-separated: ${PARTS.map(({ name }) => name).join(',')}`;

const { short, chosen, loops, seed } = argumentsOrExit(USAGE, readOptions);

const progress = (line: string) => process.stdout.write(`\n  ${line}`);
const findings = [];
process.stdout.write(`seed ${seed}\n`);
for (const part of PARTS.filter(({ name }) => chosen?.includes(name) ?? true)) {
  const started = performance.now();
  process.stdout.write(`${part.name} ...`);
  for (const found of await part.run({ short, loops, seed, progress })) findings.push({ part: part.name, ...found });
  process.stdout.write(` ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}
printTable(findings);
await writeReport(findings, { seed, short });
process.exitCode = findings.some(({ verdict }) => verdict === 'broken') ? 1 : 0;

function readOptions(argv: readonly string[]) {
  const specs = {
    short: { type: 'boolean', default: false },
    only: { type: 'string' },
    loops: { type: 'string' },
    seed: { type: 'string' },
  } as const;
  const values = readArguments(USAGE, specs, argv);
  if (values === 'help') return values;
  const chosen = values.only?.split(',');
  const unknown = chosen?.filter((name) => !PARTS.some((part) => part.name === name)) ?? [];
  const loops = values.loops === undefined ? null : Number(values.loops);
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed);
  if (unknown.length > 0) throw argumentError(USAGE, `no part ${unknown.join(', ')}`);
  if (loops !== null && !(Number.isInteger(loops) && loops > 0)) {
    throw argumentError(USAGE, '--loops should be an integer above 0');
  }
  if (!Number.isInteger(seed)) throw argumentError(USAGE, '--seed should be an integer');
  return { short: values.short, chosen, loops, seed };
}
