import type { Operation } from '@quartermaster/contracts/operation.ts';
import { runForTenant } from '@quartermaster/db/tenant-context.ts';
import { type Principal, principalName, tenantOfCaller } from '../../access/principal.ts';
import { inFairTurn } from '../../rate-limits/fair-turns.ts';
import { callerOf } from '../../rate-limits/limits.ts';
import type { Services } from '../../services.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import type { Signal } from '../otlp/signal.ts';
import { bodyTooLarge } from './collect-body.ts';
import { ByteBudget, type HeldBytes } from './byte-budget.ts';
import { ingestSpans } from './ingest.ts';
import { ingestLogs } from './ingest-logs.ts';
import { ingestMetrics } from './ingest-metrics.ts';
import type { BodyEncoding } from './prepare-body.ts';
import { LARGE_BYTES, prepareLogs, prepareMetrics, prepareTraces } from './prepare-large.ts';
import { Room } from './room.ts';
import { mostUnpacked, type PackedBody, saidUnpacked, unpack } from './unpack.ts';

/** A request of an authorised sender. Its body is in memory as it came in. */
export type TelemetryRequest = {
  signal: Signal;
  operation: Operation;
  principal: Principal;
  encoding: BodyEncoding;
  body: PackedBody;
};

/** Which signal an operation takes. */
export function signalOf({ operationId }: Operation): Signal {
  const signal = SIGNALS[operationId];
  if (signal === undefined) throw new Error(`nothing takes ${operationId}`);
  return signal;
}

const SIGNALS: Readonly<Record<string, Signal>> = {
  ingest_traces: 'traces',
  ingest_logs: 'logs',
  ingest_metrics: 'metrics',
};

/** What the spans of a small body take of memory while they are stored, for each of its bytes. */
const MEMORY_FACTOR = 32;

/** The memory for small bodies, in bytes: eight of the largest, or hundreds of usual ones. */
const SMALL_ROOM = 8 * LARGE_BYTES * MEMORY_FACTOR;

/** Large bodies in memory at once, unpacked; one of each tenant. */
const LARGE_ROOM = 2;

/** The longest wait for room, in milliseconds. Exporters wait for 10 s for an answer. */
const MAX_WAIT_MS = 5000;

/**
 * What is common to all protocols that telemetry comes in by. It bounds the memory that requests take, so that none of
 * them can be chosen to take it all:
 *
 * 1. bytes as they come in, by a budget that refuses ({@link ByteBudget});
 * 2. the tenant's fair turn;
 * 3. room for what is unpacked and read, which is waited for ({@link Room}). A body that unpacks to more than
 *    `LARGE_BYTES` has to wait for one of few places, whatever it weighed packed.
 */
export class Intake {
  readonly maxBytes: number;
  readonly #services: Services;
  readonly #budget: ByteBudget;
  readonly #small = new Room({ total: SMALL_ROOM, ofTenant: SMALL_ROOM / 2, maxWaitMs: MAX_WAIT_MS });
  readonly #large = new Room({ total: LARGE_ROOM, ofTenant: 1, maxWaitMs: MAX_WAIT_MS });

  /** @param maxBytes of a body, as it comes in and unpacked */
  constructor(services: Services, maxBytes: number) {
    this.#services = services;
    this.maxBytes = maxBytes;
    this.#budget = new ByteBudget(maxBytes);
  }

  /** Counts the bytes of a request as they come in. They are held until it is answered. @throws 429 beyond the budget */
  open(principal: Principal): HeldBytes {
    return this.#budget.open(senderOf(principal));
  }

  /** Unpacks, reads and stores a request. Answers what was refused of it, or null. */
  take(request: TelemetryRequest): Promise<PartialSuccess | null> {
    const { operation, principal } = request;
    return inFairTurn({ services: this.#services, principal, address: '' }, operation, () =>
      runForTenant(tenantOfCaller(principal), () => this.#unpackAndIngest(request)),
    );
  }

  async #unpackAndIngest(request: TelemetryRequest): Promise<PartialSuccess | null> {
    const { body, principal } = request;
    const tenant = senderOf(principal);
    const smallest = Math.min(LARGE_BYTES, this.maxBytes);
    // Unpacked once instead of twice, where the body says that it is large.
    if (saidUnpacked(body) <= smallest) {
      const place = await this.#small.enter(tenant, Math.min(mostUnpacked(body), smallest) * MEMORY_FACTOR);
      try {
        const unpacked = await unpack(body, smallest);
        if (unpacked !== null) {
          place.shrink(unpacked.length * MEMORY_FACTOR);
          return await this.#ingest(request, unpacked);
        }
      } finally {
        place.leave();
      }
    }
    if (mostUnpacked(body) <= smallest) throw bodyTooLarge(this.maxBytes);
    const place = await this.#large.enter(tenant, 1);
    try {
      const unpacked = await unpack(body, this.maxBytes);
      if (unpacked === null) throw bodyTooLarge(this.maxBytes);
      return await this.#ingest(request, unpacked);
    } finally {
      place.leave();
    }
  }

  async #ingest({ signal, principal, encoding }: TelemetryRequest, unpacked: Buffer) {
    const ctx = { services: this.#services, principal };
    switch (signal) {
      case 'traces':
        return ingestSpans(ctx, (options) => prepareTraces(unpacked, { encoding, ...options }));
      case 'logs':
        return ingestLogs(ctx, (options) => prepareLogs(unpacked, { encoding, ...options }));
      case 'metrics':
        await ingestMetrics(ctx, () => prepareMetrics(unpacked, { encoding }));
        return null;
    }
  }
}

/** Who shares a part of the memory: a tenant, or a user of several. */
function senderOf(principal: Principal): string {
  return callerOf(principal).tenantId || principalName(principal);
}
