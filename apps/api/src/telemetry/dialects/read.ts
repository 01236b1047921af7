import { dialectReader } from './reader.ts';
import { DIALECTS } from './table.ts';

/** Reads spans and log records of all known dialects. */
export const { readSpan, readLogRecord, readNames } = dialectReader(DIALECTS);
