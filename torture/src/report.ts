import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { Finding } from './part.ts';

type Row = Finding & { part: string };

/** How many faults of a promise are printed. The report has all of them. */
const FAULTS_PRINTED = 20;

const REPORT = join(import.meta.dirname, '../reports/torture.json');

/** Prints the faults first, then the result of every promise. */
export function printTable(rows: readonly Row[]): void {
  const lines = rows.flatMap(({ part, promise, faults }) => {
    const more = faults.length > FAULTS_PRINTED ? [`  and ${faults.length - FAULTS_PRINTED} more`] : [];
    const shown = faults.slice(0, FAULTS_PRINTED).map((fault) => `  ${fault}`);
    return faults.length === 0 ? [] : [`${part}: ${promise}`, ...shown, ...more];
  });
  const cells = rows.map(({ part, promise, verdict, measured }) => [part, promise, verdict, measured]);
  const table = [['part', 'promise', 'verdict', 'measured'], ...cells];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table) {
    lines.push(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  }
  process.stdout.write(`\n${lines.join('\n')}\n`);
}

/** Writes all results as JSON, to compare runs. */
export async function writeReport(rows: readonly Row[], run: { seed: number; short: boolean }): Promise<void> {
  await mkdir(join(REPORT, '..'), { recursive: true });
  const machine = { node: process.version, platform: `${process.platform} ${process.arch}`, cores: cpus().length };
  await writeFile(
    REPORT,
    `${JSON.stringify({ ...run, at: new Date().toISOString(), machine, findings: rows }, null, 2)}\n`,
  );
  process.stdout.write(`written to ${REPORT}\n`);
}
