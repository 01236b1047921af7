import type { Operation } from '@quartermaster/contracts/operation.ts';
import { type Principal, tenantOfCaller } from '../../auth/principal.ts';
import { inTurn } from '../../http/rate-limits/in-turn.ts';
import { ApiError } from '../../platform/errors.ts';
import { FairSemaphore, type Permit } from '../../platform/fair-semaphore.ts';
import type { Services } from '../../platform/services.ts';
import type { PartialSuccess } from '../otlp/span.ts';
import type { Signal } from '../otlp/signal.ts';
import { bodyTooLarge } from './collect-body.ts';
import { ByteBudget, type HeldBytes } from './byte-budget.ts';
import { ingestSpans } from './ingest.ts';
import { ingestLogs } from './ingest-logs.ts';
import { ingestMetrics } from './ingest-metrics.ts';
import { JointStores } from './joint-stores.ts';
import type { IngestContext } from './sender.ts';
import type { BodyEncoding } from './prepare-body.ts';
import { LARGE_BYTES, prepareLogs, prepareMetrics, prepareTraces } from './prepare-large.ts';
import { type BoundedBody, decompress, type EncodedBody, maxDecompressedBytes } from './decompress.ts';
import { storeSpans } from './store-spans.ts';

type IntakeServices = IngestContext['services'] & Pick<Services, 'scheduler'>;

/** A request of an authorized sender. Its body is in memory as it was sent. */
export type TelemetryRequest = {
  signal: Signal;
  operation: Operation;
  principal: Principal;
  encoding: BodyEncoding;
  body: EncodedBody;
  /** Called when the turn of the request begins, with how long it waited for that. */
  onTurn: (waitedMs: number) => void;
};

/** The signal that an operation ingests. */
export function signalOf({ operationId }: Operation): Signal {
  const signal = SIGNALS[operationId];
  if (signal === undefined) throw new Error(`the operation ${operationId} has no signal`);
  return signal;
}

const SIGNALS: Readonly<Record<string, Signal>> = {
  ingest_traces: 'traces',
  ingest_logs: 'logs',
  ingest_metrics: 'metrics',
};

/** Memory that the spans of a small body take while they are stored, as a multiple of the body's size. */
const MEMORY_FACTOR = 32;

/** Memory for all small bodies, in bytes: eight of the largest ones, or hundreds of usual ones. */
const SMALL_BODIES_MEMORY = 8 * LARGE_BYTES * MEMORY_FACTOR;

/** Large bodies that may be in memory at the same time, decompressed. At most one of each tenant. */
const MAX_LARGE_BODIES = 2;

/**
 * After this time, in milliseconds, a large body is interrupted if a large body of another tenant waits. The interrupted sender
 * gets 429 and sends its body again. The spans that were stored already are then duplicates, so each attempt stores more.
 */
const MAX_LARGE_MS = 3000;

/** How often a large body looks whether another one waits, in milliseconds. */
const LOOK_MS = 250;

/** A body that was small when compressed turned out to be large. */
const TOO_LARGE = Symbol('too large');

/**
 * Takes telemetry from OTLP/HTTP and OTLP/gRPC. It bounds the memory of requests, so that no sender can use it up:
 *
 * 1. {@link ByteBudget} counts bytes as they are received, and refuses requests beyond it.
 * 2. The request waits for memory to decompress and read its body ({@link FairSemaphore}). A body that decompresses to more
 *    than `LARGE_BYTES` waits for one of a few slots, however small it was when compressed. A worker thread decompresses it.
 * 3. The request waits in the line of its tenant.
 */
export class Intake {
  readonly maxBytes: number;
  readonly #services: IntakeServices;
  readonly #budget: ByteBudget;
  readonly #small = new FairSemaphore({
    total: SMALL_BODIES_MEMORY,
    perTenant: SMALL_BODIES_MEMORY / 2,
    tooBusy,
  });
  readonly #large = new FairSemaphore({ total: MAX_LARGE_BODIES, perTenant: 1, tooBusy });
  readonly #jointStores: JointStores;

  /** @param maxBytes the largest body, both as it is sent and decompressed */
  constructor(services: IntakeServices, maxBytes: number) {
    this.#services = services;
    this.maxBytes = maxBytes;
    this.#budget = new ByteBudget(maxBytes);
    this.#jointStores = new JointStores((spans, interrupted) => storeSpans(services, spans, interrupted));
  }

  /** Starts to count the received bytes of a request. The caller releases them after the answer. @throws 429 */
  open(principal: Principal): HeldBytes {
    return this.#budget.open(tenantOfCaller(principal));
  }

  /** Decompresses, reads and stores a request. @returns what was refused of it, or null */
  async take(request: TelemetryRequest): Promise<PartialSuccess | null> {
    const { body } = request;
    const deadline = this.#services.scheduler.deadline();
    const smallLimit = Math.min(LARGE_BYTES, this.maxBytes);
    if (body.bytes.length > this.maxBytes) throw bodyTooLarge(this.maxBytes);
    if (body.bytes.length <= smallLimit) {
      const taken = await this.#takeSmall(request, smallLimit, deadline);
      if (taken !== TOO_LARGE) return taken;
      if (smallLimit === this.maxBytes) throw bodyTooLarge(this.maxBytes);
    }
    return this.#takeLarge(request, deadline);
  }

  async #takeSmall(request: TelemetryRequest, limit: number, deadline: number) {
    const { body, principal } = request;
    const memory = Math.min(maxDecompressedBytes(body), limit) * MEMORY_FACTOR;
    const permit = await this.#small.acquire(tenantOfCaller(principal), memory, deadline);
    try {
      return await this.#inTurn(request, deadline, async () => {
        const decompressed = await decompress(body, limit);
        if (decompressed === null) return TOO_LARGE;
        permit.shrink(decompressed.length * MEMORY_FACTOR);
        return this.#ingest(request, { bytes: decompressed, coding: 'identity', maxBytes: limit });
      });
    } finally {
      permit.release();
    }
  }

  async #takeLarge(request: TelemetryRequest, deadline: number): Promise<PartialSuccess | null> {
    const permit = await this.#large.acquire(tenantOfCaller(request.principal), 1, deadline);
    try {
      return await this.#inTurn(request, deadline, async () => {
        const { signal, stop } = abortWhenWanted(permit);
        return this.#ingest(request, { ...request.body, maxBytes: this.maxBytes }, signal).finally(stop);
      });
    } finally {
      permit.release();
    }
  }

  #inTurn<T>({ operation, principal, onTurn }: TelemetryRequest, deadline: number, work: () => Promise<T>): Promise<T> {
    const caller = { services: this.#services, principal, address: '' };
    return inTurn(
      caller,
      operation,
      (waitedMs) => {
        onTurn(waitedMs);
        return work();
      },
      deadline,
    );
  }

  /** @param interrupted set for a large body only: aborts when another one needs the memory */
  async #ingest({ signal, principal, encoding }: TelemetryRequest, body: BoundedBody, interrupted?: AbortSignal) {
    const ctx = { services: this.#services, principal };
    switch (signal) {
      case 'traces':
        return ingestSpans(
          ctx,
          (options) => prepareTraces(body, { encoding, ...options }),
          (spans) => this.#jointStores.store(spans, interrupted),
        );
      case 'logs':
        return ingestLogs(ctx, (options) => prepareLogs(body, { encoding, ...options }), interrupted);
      case 'metrics':
        await ingestMetrics(ctx, () => prepareMetrics(body, { encoding }));
        return null;
    }
  }
}

/** A signal that aborts when a request has held its permit for {@link MAX_LARGE_MS} and another tenant waits for it. */
function abortWhenWanted(permit: Permit): { signal: AbortSignal; stop: () => void } {
  const begun = performance.now();
  const controller = new AbortController();
  const timer = setInterval(() => {
    if (performance.now() - begun > MAX_LARGE_MS && permit.isWanted()) controller.abort(tooBusy());
  }, LOOK_MS);
  return { signal: controller.signal, stop: () => clearInterval(timer) };
}

/** Another request takes the memory. */
export function tooBusy(): ApiError {
  return new ApiError(
    'rate_limited',
    'Too much telemetry is being read at the moment. Send this request again in a moment.',
    {
      headers: { 'Retry-After': '1' },
    },
  );
}
