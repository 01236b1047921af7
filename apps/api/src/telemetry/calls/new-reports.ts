import type { Database } from '@quartermaster/db/database.ts';
import {
  findCountedCalls,
  findTelemetryCalls,
  type TelemetryCall,
} from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type CallsBelow, keyOfCallBelow } from './call-keys.ts';
import type { RecordReport } from './record-reports.ts';
import { findRecordsBelow, MAX_RECORDS_BELOW } from './records-below.ts';
import { type Call, isOfRecord } from './resolve.ts';
import { findSpanReports, type SpanReports } from './span-reports.ts';

type ReportBatch = { all: readonly RecordReport[]; sender: string };

/** Finds the reports of log records whose calls, or whose failures, no signal reported before. */
export async function findNewReports(
  db: Database,
  place: TenantPlace,
  { all, sender }: ReportBatch,
): Promise<NewReports> {
  const asked = all.flatMap(({ recognised, failure }) => [
    ...recognised,
    ...(failure?.recognised ?? []),
    ...(failure?.ofSpan ?? []),
    ...(failure?.unnamed ?? []),
  ]);
  const stored = await findTelemetryCalls(db, place, [...new Set(asked)]);
  const spans = await findSpanReports(db, place, { records: all.map(({ record }) => record), sender });
  const unknown = all.filter(({ recognised }) => !recognised.some((key) => stored.has(key)));
  const below = unknown.flatMap((report) => report.below ?? []);
  const recordsBelow = await findRecordsBelow(db, place, { below, sender });
  const ofFailures = all.filter(({ failure }) => failure !== null).flatMap(({ recognised }) => recognised);
  const recordKeys = new Set(ofFailures.flatMap((key) => stored.get(key)?.recordKey ?? []));
  const countedCalls = await findCountedCalls(db, place, [...recordKeys]);
  const reports = new NewReports({ stored, spans, recordsBelow, countedCalls, sender });
  for (const report of all) reports.add(report);
  return reports;
}

/** What is known before a batch of reports. */
type Known = {
  stored: ReadonlyMap<string, TelemetryCall>;
  spans: SpanReports;
  recordsBelow: (below: CallsBelow) => readonly TelemetryCall[];
  /** The calls that records counted and no span has replaced, by the keys of the records. */
  countedCalls: ReadonlyMap<string, Uint8Array>;
  sender: string;
};

export class NewReports {
  /** The reports of calls that no signal reported before. */
  readonly fresh: RecordReport[] = [];
  /** The reports of failures of counted calls, if no signal reported the failure before. `call`: the call, if spans counted it. */
  readonly failed: { report: RecordReport; call: Call | undefined }[] = [];
  /** The same for stored calls that records counted, by the keys of the records. */
  readonly failedRecords = new Map<string, { report: RecordReport; countedCall: Uint8Array }>();
  /** The reports of calls that spans counted, with something that the spans do not say. */
  readonly added: { report: RecordReport; call: Call }[] = [];
  /**
   * The keys to store, so that later reports of the same calls and failures are recognised. The value is the key of the record
   * that counts the call.
   */
  readonly keysOfRecords = new Map<string, string | null>();
  /** The keys to store for calls that spans reported first. */
  readonly keysOfSpans = new Set<string>();

  readonly #known: Known;
  /** The keys that are stored, and those that will be. */
  readonly #keys: Set<string>;
  /** The fresh reports, by the keys of their records. */
  readonly #freshByKey = new Map<string, RecordReport>();
  /** How many records there are below each span. */
  readonly #below = new Map<string, number>();

  constructor(known: Known) {
    this.#known = known;
    this.#keys = new Set(known.stored.keys());
  }

  add(report: RecordReport): void {
    const { record, use, failure } = report;
    const isSpanTaken = this.#hasAny(failure?.ofSpan ?? []);
    const ofSpans = use.times === 0 ? undefined : this.#known.spans.keysOfReport(record, use, isSpanTaken);
    if (ofSpans || this.#hasAny(report.recognised)) {
      if (ofSpans) this.#addEvidence(report, ofSpans);
      this.#addFailure(report, ofSpans);
    } else if (report.isFailure) {
      return;
    } else if (report.below && this.#isOfSpanBelow(report, report.below)) {
      this.#storeOfRecord([...report.ownKeys, ...(failure?.remembered ?? [])], null);
    } else {
      this.fresh.push(report);
      if (report.recordKey !== null) this.#freshByKey.set(report.recordKey, report);
      this.#storeOfRecord(report.remembered, report.recordKey);
      if (failure) this.#storeOfRecord([...failure.remembered, ...failure.ofSpan], report.recordKey);
    }
  }

  /** Adds the model that answered, if only the record names it: it may be blocked. */
  #addEvidence(report: RecordReport, ofSpans: ReadonlySet<string>): void {
    const { responseModel } = report.span.facts;
    if (report.use.kind !== 'model' || responseModel === null || report.isRejection) return;
    const call = this.#known.spans.callOf(report.record, ofSpans);
    if (!call || isOfRecord(call)) return;
    const isKnown = call.reports.some(
      ({ use }) => use.responseModel === responseModel || use.written === responseModel,
    );
    if (!isKnown) this.added.push({ report, call });
  }

  /** Adds the failure of a counted call, unless the failure is known. @param ofSpans the keys of the call in spans */
  #addFailure(report: RecordReport, ofSpans: ReadonlySet<string> | undefined): void {
    const { record, failure, isRejection } = report;
    if (failure === null || isRejection || this.#hasAny(failure.recognised)) return;
    if (failure.unnamed.some((key) => this.#known.stored.get(key)?.signal === 'span')) return;
    const call = ofSpans && this.#known.spans.callOf(record, ofSpans);
    if (call === null) return;
    if (call === undefined && this.#failRecord(report, [...failure.remembered, ...failure.ofSpan])) return;
    const unknownKeys = this.#hasAny(report.recognised) ? [] : report.ownKeys;
    this.#storeOfRecord(failure.remembered, null);
    this.#store([...failure.ofSpan, ...unknownKeys], (key) => this.keysOfSpans.add(key));
    if (!call?.failed) this.failed.push({ report, call: call && !isOfRecord(call) ? call : undefined });
  }

  /** Adds a failure to a call that a record counted and no span has replaced. @returns whether there is such a call */
  #failRecord(report: RecordReport, keys: readonly string[]): boolean {
    const keyOfRecord = (key: string) => this.keysOfRecords.get(key) ?? this.#known.stored.get(key)?.recordKey;
    const recordKey = report.recognised.map(keyOfRecord).find((key) => key != null);
    if (recordKey == null) return false;
    const ofBatch = this.#freshByKey.get(recordKey);
    const countedCall = this.#known.countedCalls.get(recordKey);
    if (ofBatch) ofBatch.span = { ...ofBatch.span, failed: true };
    else if (countedCall) this.failedRecords.set(recordKey, { report, countedCall });
    else return false;
    this.#storeOfRecord(keys, recordKey);
    return true;
  }

  /** Adds the report to the records below a span. @returns whether it is one of the calls that spans reported there */
  #isOfSpanBelow(report: RecordReport, below: CallsBelow): boolean {
    const { spans, recordsBelow, sender } = this.#known;
    const id = JSON.stringify(below);
    const position = this.#below.get(id) ?? recordsBelow(below).length;
    this.#below.set(id, position + 1);
    const isOfSpan = position < spans.countBelow(below);
    if (position < MAX_RECORDS_BELOW) {
      this.keysOfRecords.set(keyOfCallBelow(sender, below, position), isOfSpan ? null : report.recordKey);
    }
    return isOfSpan;
  }

  #hasAny(keys: readonly string[]): boolean {
    return keys.some((key) => this.#keys.has(key));
  }

  #storeOfRecord(keys: readonly string[], recordKey: string | null): void {
    this.#store(keys, (key) => this.keysOfRecords.set(key, recordKey));
  }

  /** Stores keys that are not known: the first signal of a key stays. */
  #store(keys: readonly string[], storeOne: (key: string) => unknown): void {
    for (const key of keys) if (!this.#keys.has(key)) storeOne(key);
    for (const key of keys) this.#keys.add(key);
  }
}
