import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

/** A database, or a transaction on it. Every repository function takes either. */
export type Database = Kysely<Tables>;
