import { parseArgs } from 'node:util';
import { PARTS } from './parts.ts';
import { printTable, writeReport } from './report.ts';

// Runs the parts of the torture suite one after the other, and prints which promises held. Exit code 1 if one is broken.
const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string' },
    loops: { type: 'string' },
    seed: { type: 'string' },
  },
});
const chosen = values.only?.split(',');
const unknown = chosen?.filter((name) => !PARTS.some((part) => part.name === name)) ?? [];
const loops = values.loops === undefined ? null : Number(values.loops);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed);
if (unknown.length > 0 || (loops !== null && !(Number.isInteger(loops) && loops > 0)) || !Number.isInteger(seed)) {
  process.stderr.write(
    `usage: npm run torture -- [--short] [--only ${PARTS.map(({ name }) => name).join(',')}] [--loops <number>] [--seed <number>]\n`,
  );
  process.exit(2);
}

const progress = (line: string) => process.stdout.write(`\n  ${line}`);
const findings = [];
process.stdout.write(`seed ${seed}\n`);
for (const part of PARTS.filter(({ name }) => chosen?.includes(name) ?? true)) {
  const started = performance.now();
  process.stdout.write(`${part.name} ...`);
  for (const found of await part.run({ short: values.short, loops, seed, progress }))
    findings.push({ part: part.name, ...found });
  process.stdout.write(` ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}
printTable(findings);
await writeReport(findings, { seed, short: values.short });
process.exitCode = findings.some(({ verdict }) => verdict === 'broken') ? 1 : 0;
