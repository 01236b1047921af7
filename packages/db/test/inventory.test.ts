import { expect, test } from 'vitest';
import { deleteInventory, newItemRow } from '../src/repositories/inventory.ts';
import { insertProvider } from '../src/repositories/providers.ts';
import { affectedRows, recordingDatabase } from './recorded-results.ts';
import { NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };

// Regression: one statement removed all of them. 90,000 items blocked the event loop for 2.1 s.
test('the items of a deleted provider are removed some at a time, and those of other providers stay', async () => {
  const db = await temporaryDatabase(ACME);
  const newProvider = async (name: string, items: number) => {
    const fields = { displayName: null, description: null, baseUrl: null, metadata: {} };
    const values = { name, kind: 'mcp', status: 'active', ...fields } as const;
    const { id } = await insertProvider(db, ACME, values, NOW);
    const content = { title: null, description: null, schemaDigest: null, attributes: {} };
    const rows = Array.from({ length: items }, (_, index) => {
      const tool = { providerId: id, kind: 'tool', name: `tool-${index}`, nameKey: `tool-${index}` } as const;
      return newItemRow(ACME, { ...tool, ...content, status: 'available', source: 'manual' }, NOW);
    });
    for (let start = 0; start < items; start += 100) {
      await db
        .insertInto('inventory_items')
        .values(rows.slice(start, start + 100))
        .execute();
    }
    return id;
  };
  const [deleted, other] = [await newProvider('deleted', 1200), await newProvider('other', 3)];
  const { recording, results } = recordingDatabase(db);
  await deleteInventory(recording, [ACME], deleted);
  expect(affectedRows(results)).toEqual([500, 500, 200]);
  const left = await db.selectFrom('inventory_items').select('provider_id').execute();
  expect(left.map(({ provider_id: id }) => id)).toEqual([other, other, other]);
});
