import { readdir } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const SOURCES = fileURLToPath(new URL('../src', import.meta.url));

/** Bundles a module as a browser application does. */
async function bundleForBrowser(contents: string) {
  const { outputFiles, metafile, warnings } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' },
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'contracts',
    target: 'es2022',
  });
  expect(warnings).toEqual([]);
  const [file] = outputFiles;
  if (!file) throw new Error('esbuild returned no file');
  return { code: file.text, bytes: file.contents.length, inputs: Object.keys(metafile.inputs) };
}

/** Runs a bundle without Node's globals and without the DOM, and returns its exports. */
function exportsOf(code: string): Record<string, unknown> {
  const globals: Record<string, unknown> = { TextEncoder, URL, Intl };
  runInContext(code, createContext(globals));
  return globals['contracts'] as Record<string, unknown>;
}

const SERVICE_ACCOUNTS = `export { ServiceAccountSchema, CreateServiceAccountInputSchema, createServiceAccount }
  from '@quartermaster/contracts/service-accounts.ts';`;

test('a bundle of a contract contains our sources and zod, and no Node module', async () => {
  const { inputs, bytes } = await bundleForBrowser(SERVICE_ACCOUNTS);
  const foreign = inputs.filter((path) => !/(^|\/)(packages\/contracts\/)?src\/[\w-]+\.ts$|\/zod\/|<stdin>/.test(path));
  expect(foreign).toEqual([]);
  expect(inputs.some((path) => path.includes('/zod/'))).toBe(true);
  const builtins = new Set(builtinModules);
  expect(inputs.filter((path) => builtins.has(path) || path.startsWith('node:'))).toEqual([]);
  expect(bytes).toBeLessThan(1024 * 1024);
});

test('a bundled contract validates without Node', async () => {
  const { code } = await bundleForBrowser(SERVICE_ACCOUNTS);
  const { ServiceAccountSchema, CreateServiceAccountInputSchema, createServiceAccount } = exportsOf(code) as Record<
    string,
    { safeParse(value: unknown): { success: boolean }; operationId?: string }
  >;
  const time = '2026-03-01T12:00:00.000Z';
  const account = {
    id: 'worker',
    tenantId: 'acme',
    subTenantId: null,
    name: 'Worker',
    displayName: null,
    description: null,
    status: 'active',
    platformAdministrator: false,
    metadata: { a: 1 },
    lastUsedAt: null,
    keyCount: 0,
    activeKeyCount: 0,
    soonestKeyExpiryAt: null,
    telemetry: null,
    createdAt: time,
    updatedAt: time,
  };
  expect(ServiceAccountSchema?.safeParse(account).success).toBe(true);
  expect(ServiceAccountSchema?.safeParse({ ...account, more: 1 }).success).toBe(false);
  expect(CreateServiceAccountInputSchema?.safeParse({ name: 'x' }).success).toBe(true);
  expect(CreateServiceAccountInputSchema?.safeParse({}).success).toBe(false);
  expect(createServiceAccount?.operationId).toBe('create_service_account');
});

test('every contract can be bundled and run without Node', async () => {
  const files = (await readdir(SOURCES)).filter((file) => file.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(15);
  const all = files.map((file, at) => `export * as module${at} from '@quartermaster/contracts/${file}';`).join('\n');
  const { code } = await bundleForBrowser(all);
  const modules = exportsOf(code);
  expect(Object.keys(modules)).toHaveLength(files.length);
});
