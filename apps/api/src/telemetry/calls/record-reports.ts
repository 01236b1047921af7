import type { Facts, Use } from '../reading/facts.ts';
import { type CallsBelow, keyOfFailure, keyOfRecord, keysOfCallId, keysOfSpan, namesOfCall } from './call-keys.ts';
import { MAX_DURATION_MS } from './call-span.ts';
import type { InterpretedRecord } from './interpreted-record.ts';
import type { InterpretedSpan } from './interpreted-span.ts';
import { comparableName } from './same-name.ts';

/** Keys of a failure, like those of a call. */
type FailureKeys = {
  recognised: readonly string[];
  remembered: readonly string[];
  /**
   * The keys of the span that the record was written in. If the record counted a call of its own, they are stored for the
   * signal `log`. If the record added the failure to a call of the span, they are stored for the signal `span`.
   */
  ofSpan: readonly string[];
  /**
   * The keys that a span inside the call's span stores, if that inner span does not name the tool. If it stored one of them,
   * the record's failure is known.
   */
  unnamed: readonly string[];
};

/** A record's report of a call, with the keys that identify the call. */
export type RecordReport = {
  record: InterpretedRecord;
  span: InterpretedSpan;
  use: Use;
  /** If one of these keys is stored, the call was counted before. */
  recognised: string[];
  /** The keys that identify the record when it is sent again. */
  ownKeys: string[];
  /** The keys that are stored once the call is counted. */
  remembered: string[];
  /** One of `ownKeys`. The counted call is stored under it, so that a span can replace the call. Null if no span can be recognised. */
  recordKey: string | null;
  /** The record says that the call failed or was rejected, and these keys identify the failure. */
  failure: FailureKeys | null;
  /** The calls that it may report if it was written in their parent span. Null for a record with a call id. */
  below: CallsBelow | null;
  /** The record only says that a call failed, which another record or a span reports. */
  isFailure: boolean;
  /** The call was rejected. It does not count, and its keys are stored so that no other record or span counts it. */
  isRejection: boolean;
};

/** The calls that a log record reports, and the call of which it reports only the tokens. */
export function reportsOf(record: InterpretedRecord, sender: string): RecordReport[] {
  const { facts, uses, tokensOf, failureOf, rejected } = record.reading;
  if (facts === null) return [];
  const span = asSpan(record, facts);
  // Without a call id, a rejection would have the same keys as other calls in the same span.
  const reports = [...uses, ...(rejected && facts.callId !== null ? [rejected] : [])].map((use) => ({
    record,
    span,
    use,
    isFailure: false,
    isRejection: use === rejected,
    ...keysOf(record, use, { facts, sender, isRejection: use === rejected }),
  }));
  if (failureOf !== undefined) {
    const keys = keysOf(record, failureOf, { facts, sender, isRejection: false });
    // The record of the call has the same keys, except for those of the record itself.
    const ofCall = { ...keys, recognised: [...keys.recognised, ...keys.remembered], below: null };
    return [{ record, span, use: failureOf, ...ofCall, isFailure: true, isRejection: false }];
  }
  if (tokensOf === undefined) return reports;
  const ownKeys = [keyOfRecord(sender, `${record.digest} tokens`)];
  const keys = { recognised: ownKeys, ownKeys, remembered: ownKeys, recordKey: null, failure: null, below: null };
  return [...reports, { record, span, use: { ...tokensOf, times: 0 }, ...keys, isFailure: false, isRejection: false }];
}

const NO_KEYS = { recognised: [], remembered: [] };
const UNNAMED = { stored: [''], asked: [''] };

function keysOf(
  { traceId, spanId, digest, failed }: InterpretedRecord,
  use: Use,
  { facts, sender, isRejection }: { facts: Facts; sender: string; isRejection: boolean },
): Pick<RecordReport, 'recognised' | 'ownKeys' | 'remembered' | 'recordKey' | 'failure' | 'below'> {
  const { kind, name } = use;
  const { conversationId } = facts;
  const callId = use.callId ?? facts.callId;
  const call = { sender, kind, names: namesOfCall(use, facts), traceId, conversationId };
  const inSpan = () => (traceId === null || spanId === null ? [] : keysOfSpan(call, { traceId, spanId }).remembered);
  if (callId !== null) {
    const { recognised, remembered } = keysOfCallId(call, callId);
    const recordKey = isRejection ? null : (remembered[0] ?? null);
    const keys = { recognised, ownKeys: remembered, remembered, recordKey, below: null };
    if (!failed && !isRejection) return { ...keys, failure: null };
    const unnamed = kind === 'tool' ? keysOfCallId({ ...call, names: UNNAMED }, callId) : NO_KEYS;
    const failure = {
      recognised: recognised.map(keyOfFailure),
      remembered: [...remembered, ...unnamed.remembered].map(keyOfFailure),
      ofSpan: isRejection ? [] : inSpan().map(keyOfFailure),
      unnamed: unnamed.recognised.map(keyOfFailure),
    };
    return { ...keys, failure };
  }
  const recordKey = keyOfRecord(sender, `${digest} ${kind}${kind === 'tool' ? ` ${name}` : ''}`);
  const ownKeys = [recordKey];
  const spanKeys = inSpan();
  const [ofRecord, ofSpan] = failed ? [ownKeys.map(keyOfFailure), spanKeys.map(keyOfFailure)] : [[], []];
  const failure = failed ? { recognised: [...ofRecord, ...ofSpan], remembered: ofRecord, ofSpan, unnamed: [] } : null;
  const remembered = [...ownKeys, ...spanKeys];
  const keys = { recognised: ownKeys, ownKeys, remembered, failure };
  if (traceId === null || spanId === null) return { ...keys, recordKey: null, below: null };
  const below = { traceId, parentSpanId: spanId, kind, name: comparableName(kind, name) };
  return { ...keys, recordKey, below };
}

/** The span that a record stands for. The record's time is the end of the call. */
function asSpan(
  { reading, serviceName, environment, time, durationMs, failed, traceId, spanId, digest }: InterpretedRecord,
  facts: Facts,
): InterpretedSpan {
  const end = Date.parse(`${time.slice(0, 23).replace(/Z$/, '')}Z`) * 1000;
  return {
    traceId: traceId ?? '',
    spanId: spanId ?? digest,
    parentSpanId: null,
    serviceName,
    environment,
    dialect: reading.dialect,
    scope: '',
    spanName: '',
    start: Math.max(0, end - Math.round(Math.min(durationMs ?? 0, MAX_DURATION_MS) * 1000)),
    end,
    failed,
    facts,
    uses: reading.uses,
  };
}
