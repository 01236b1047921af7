import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '@quartermaster/api/src/config.ts';
import { expect, test } from 'vitest';
import { COMMANDS, helpText, readCommand } from '../src/commands.ts';
import { ENVIRONMENT, FLAGS } from '../src/node-settings.ts';

const ROOT = join(import.meta.dirname, '../../..');

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

test('without a command the package serves on this machine', () => {
  expect(readCommand([])).toEqual({ name: 'dev', argv: [], isServer: true });
});

test('a command gets the arguments after it, and an unknown one is refused', () => {
  expect(readCommand(['backup', '--to', 'x.db'])).toEqual({ name: 'backup', argv: ['--to', 'x.db'], isServer: false });
  expect(readCommand(['serve', '--help'])).toEqual({ name: 'serve', argv: ['--help'], isServer: false });
  expect(readCommand(['--version']).name).toBe('version');
  for (const name of ['start', 'toString', '']) expect(readCommand([name]).name).toBeNull();
});

test('the help lists every command', () => {
  const lines = helpText(VERSION).split('\n');
  for (const name of Object.keys(COMMANDS)) expect(lines.some((line) => line.startsWith(`  ${name} `))).toBe(true);
});

test('the package runs Node with the settings of scripts/server.sh', () => {
  const script = read('scripts/server.sh');
  const [, flags = ''] = /^exec node (.*) "\$@"$/m.exec(script) ?? [];
  expect(flags.split(' ')).toEqual([...FLAGS]);
  const variables = [...script.matchAll(/^(\w+)="\$\{\1-(\w+)\}" \\$/gm)].map(([, name, value]) => [name, value]);
  expect(Object.fromEntries(variables)).toEqual(ENVIRONMENT);
});

test('the version of the service is that of the package', () => {
  expect(JSON.parse(read('apps/quartermaster/package.json')).version).toBe(VERSION);
});
