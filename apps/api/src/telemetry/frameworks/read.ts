import { dialectReader } from '../reading/reader.ts';
import { DIALECTS } from './list.ts';

/** Reads spans and log records of all known dialects. */
export const { readSpan, readLogRecord, readNames } = dialectReader(DIALECTS);
