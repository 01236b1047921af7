import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Options } from '../src/options.ts';
import type { Finding } from '../src/report.ts';
import { runSuite, WORKLOADS, writeReport } from '../src/suite.ts';

const SMALL = { providers: 30, tenants: 2, spansOfTrace: 20 };

/** Not run here: the first starts a PostgreSQL server, the second builds the console and starts a browser. */
const NOT_HERE = ['two-processes', 'console'];

/** One of each kind: every operation that has a floor, a list to its last page, and requests that are not compared with a floor. */
const USUAL = ['list', 'create', 'session', 'ingest', 'spans', 'trace-in-blocks', 'pages', 'decide'];

const only = scaled({ usual: USUAL, full: Object.keys(WORKLOADS).filter((name) => !NOT_HERE.includes(name)) });
const OPTIONS: Options = { only, rounds: 1, seconds: 0.1, rows: 20_000, quick: true, profile: false };

describe('a run that is too short for meaningful figures', () => {
  const report = join(tmpdir(), `quartermaster-bench-${process.pid}.json`);
  let printed = '';
  let findings: Finding[] = [];

  // The suite throws if the baseline server answers differently, or a server refuses requests.
  beforeAll(async () => {
    findings = await runSuite(OPTIONS, SMALL, (text) => {
      printed += text;
    });
    await writeReport(report, OPTIONS, findings);
  }, 300_000);
  afterAll(() => rm(report, { force: true }));

  test.for(only.map((name, index) => [name, index] as const))('%s produces figures and prints them', ([, index]) => {
    const figures = findings[index]?.figures ?? [];
    expect(figures.filter(({ agreed }) => agreed !== null)).not.toEqual([]);
    for (const { name, value } of figures) {
      expect(value, name).toBeGreaterThan(0);
      expect(printed).toContain(name);
    }
  });

  test('the JSON report has every figure with its verdict', async () => {
    const { figures } = JSON.parse(await readFile(report, 'utf8')) as { figures: Record<string, unknown>[] };
    expect(figures).toHaveLength(findings.flatMap((finding) => finding.figures).length);
    for (const figure of figures) {
      expect(figure).toMatchObject({ reached: expect.any(Boolean) as boolean, failed: expect.any(Boolean) as boolean });
    }
  });
});
