/*
 * Makes the service the next release: `node --import next-release.ts main.ts`. It has another version and one more migration, which
 * adds columns and an index to tables that every request uses, and a table. Its code is otherwise the same.
 */
import { registerHooks } from 'node:module';

const MIGRATION = `{
  up: async ({ schema }) => {
    for (const table of ['tenants', 'credentials', 'providers', 'inventory_items', 'runtime_observations', 'gateways', 'traces']) {
      await schema.alterTable(table).addColumn('color', 'text', (column) => column.notNull().defaultTo('blue')).execute();
    }
    await schema.createIndex('providers_by_color').on('providers').columns(['tenant_id', 'color']).execute();
    await schema.createTable('colors').addColumn('name', 'text', (column) => column.primaryKey()).execute();
  },
}`;

/** What is replaced in the modules of the service. */
const CHANGES = [
  {
    module: import.meta.resolve('@quartermaster/db/migrate.ts'),
    from: `'0001-baseline': baseline,`,
    to: `'0001-baseline': baseline, '0002-colors-from-0001': ${MIGRATION},`,
  },
  { module: new URL('../../src/config.ts', import.meta.url).href, from: `VERSION = '0.1.0'`, to: `VERSION = '0.2.0'` },
];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const change = CHANGES.find(({ module }) => module === url);
    if (change === undefined) return loaded;
    const source = String(loaded.source);
    if (!source.includes(change.from)) throw new Error(`${url} does not contain ${change.from}`);
    return { ...loaded, source: source.replace(change.from, change.to) };
  },
});
