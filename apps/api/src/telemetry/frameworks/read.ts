import { dialectReader } from '../reading/reader.ts';
import { CHANNEL_ATTRIBUTES } from './channels.ts';
import { DIALECTS } from './list.ts';

const reader = dialectReader(DIALECTS);

/** Reads spans and log records of all known dialects. */
export const { readSpan, readLogRecord } = reader;

/** Every attribute name that is read, see `dialectReader`. */
export const readNames: ReadonlySet<string> = new Set([...reader.readNames, ...CHANNEL_ATTRIBUTES]);
