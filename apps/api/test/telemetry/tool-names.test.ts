import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { expect, test } from 'vitest';
import { declaredTool, indexTools, readingsAt, readToolName } from '../../src/telemetry/matching/tool-names.ts';

const COUNT = 2000;

function declare(nameOf: (index: number) => string) {
  const names = Array.from({ length: COUNT }, (_, index) => nameOf(index));
  return indexTools(names.map((name) => ({ name, nameFamily: rewrittenName(name) })));
}

test.each([
  ['rewritten', (index: number) => `big_server_get_item_${index}`, (index: number) => `Get-Item-${index}`],
  [
    'truncated',
    (index: number) => `big_server_list_customers_${index}_of_a_whole_region_by_their_last`,
    (index: number) => `List-Customers-${index}-Of-A-Whole-Region-By-Their-Last-Order`,
  ],
])('thousands of %s names at a server with thousands of tools take little time', (_form, writtenOf, declaredOf) => {
  const tools = declare(declaredOf);
  const before = process.threadCpuUsage();
  for (let index = 0; index < COUNT; index += 1) {
    expect(declaredTool(readingsAt(new Set(['big_server']), readToolName(writtenOf(index))), tools)?.name).toBe(
      declaredOf(index),
    );
  }
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(4);
});
