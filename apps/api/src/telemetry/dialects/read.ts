import { dialectReader } from './reader.ts';
import { DIALECTS } from './table.ts';

/** Reads spans and log records in all dialects that are known. */
export const { readSpan, readLogRecord, readNames } = dialectReader(DIALECTS);
