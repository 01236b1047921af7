import { scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { testChains } from './credential-chains.ts';

testChains({ chains: onPostgres() ? 4 : 12, rounds: scaled({ usual: 1, full: 16 }) });
