import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const SOURCES = `${import.meta.dirname}/../src`;

const files = globSync('{screens,components}/**/*.tsx', { cwd: SOURCES }).map((name) => {
  return { name, text: readFileSync(`${SOURCES}/${name}`, 'utf8') };
});

/** The operations of the client that a file imports. */
function importedFrom(text: string): string[] {
  const [, names = ''] = /import \{([^}]*)\} from '@quartermaster\/client';/.exec(text) ?? [];
  return names.split(',').map((name) => name.trim());
}

test('a screen that deletes, revokes or disables something uses a button that looks so or a dialog that asks', () => {
  const ending = files.filter(({ text }) =>
    importedFrom(text).some((name) => /^(delete|revoke|disable)[A-Z]/.test(name)),
  );
  expect(ending.length).toBeGreaterThan(10);
  const unmarked = ending.filter(({ text }) => !/<DangerButton|isDanger|<ConfirmDialog/.test(text));
  expect(unmarked.map(({ name }) => name)).toEqual([]);
});

test('a button that suspends, disables, deletes, revokes or removes looks so', () => {
  const plain = files.flatMap(({ name, text }) =>
    [...text.matchAll(/<ActionButton[\s\S]*?<\/ActionButton>/g)]
      .map(([button]) => button)
      .filter((button) =>
        /\b(?:Suspend|Disable|Delete|Revoke|Remove)\b/.test(
          button.slice(button.lastIndexOf('>\n', button.length - 18)),
        ),
      )
      .filter((button) => !button.includes('isDanger'))
      .map((button) => `${name}: ${button}`),
  );
  expect(plain).toEqual([]);
});

test('no other file paints a button red', () => {
  const red = files.filter(({ text }) => /color(="|: ')red/.test(text)).map(({ name }) => name);
  expect(red.toSorted()).toEqual([
    'components/confirm-dialog.tsx',
    'components/form-dialog.tsx',
    'screens/inbox/bulk-bar.tsx',
  ]);
});
