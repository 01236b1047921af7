import { stat } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test, type TestContext } from 'vitest';
import { type Arena, type Outcome, type Sent, startArena, statusesOf } from './arena.ts';
import {
  bomb,
  emptyEvents,
  LARGE_TRACE_ID,
  largeTrace,
  manyValues,
  sharedResource,
  tinyJsonSpans,
  tinySpans,
} from './bodies.ts';

const MIB = 1024 * 1024;
const JSON_TYPE = 'application/json';

/** How often an attack is tried that seems to disturb the other tenant. */
const ATTEMPTS = 3;

/** Tolerance for other processes on the machine, in milliseconds. */
const NOISE_MS = 150;

/**
 * The same for a request at a random moment while pages of 8 MiB are read, in milliseconds. A page occupies the event loop for 70 ms
 * on a quiet machine, and for 250 ms beside three busy processes on two cores.
 */
const PAGE_MS = 300;

let arena: Arena;
let annotate: TestContext['annotate'];

beforeAll(async () => {
  arena = await startArena();
});
afterAll(() => arena.stop());

beforeEach(async (context) => {
  annotate = context.annotate;
  await arena.changeAttacker();
});

/**
 * Runs an attack, and expects that it neither exhausts the memory of the service nor disturbs the other tenant. What other programs on
 * the machine delay is not the attack's effect, so an attack that seems to disturb is repeated by another attacker.
 */
async function expectHarmless<A extends { status: number }>(
  attack: () => Promise<A[]>,
  usualNoiseMs = NOISE_MS,
): Promise<Outcome<A>> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await arena.runAttack(attack);
    const { answers, peakMiB, medians, usualMs, longestMs, failures } = outcome;
    const statuses = JSON.stringify(statusesOf(answers));
    const [calm, attacked] = [medians.calm, medians.attacked].map(Math.round);
    const [usual, longest, peak] = [usualMs, longestMs, peakMiB].map(Math.round);
    // `--reporter verbose` shows it.
    await annotate(
      `${statuses}, peak ${peak} MiB, the other tenant ${calm} -> ${attacked} ms, at a random moment ${usual} ms, at most ${longest} ms`,
    );
    expect(peakMiB).toBeLessThan(1024);
    expect(failures).toBe(0);
    const limits = { median: 3 * medians.calm + NOISE_MS, usual: 3 * medians.calm + usualNoiseMs };
    const disturbs = medians.attacked >= limits.median || usualMs >= limits.usual;
    if (!disturbs || attempt === ATTEMPTS) {
      expect(medians.attacked).toBeLessThan(limits.median);
      expect(usualMs).toBeLessThan(limits.usual);
      return outcome;
    }
    await arena.changeAttacker();
    await arena.measureCalm();
  }
}

function attackWith(sent: Sent, times: number): Promise<Outcome> {
  return expectHarmless(() => Promise.all(Array.from({ length: times }, () => arena.send(sent))));
}

/** Expects only these statuses. An answer that is not final must have Retry-After. */
function expectOnly(outcome: Outcome, statuses: number[]): void {
  for (const { status, retryAfter } of outcome.answers) {
    expect(statuses).toContain(status);
    if (status === 429) expect(retryAfter).toMatch(/^[1-9]\d*$/);
  }
}

describe('an attack by an account that may only send telemetry is harmless:', () => {
  test('one small request with 10,000 spans that share a resource of 60 KiB', async () => {
    const body = gzipSync(sharedResource(60 * 1024, 10_000));
    expect(body.length).toBeLessThan(42 * 1024);
    let before = 0;
    const outcome = await expectHarmless(async () => {
      before = (await stat(arena.databaseFile)).size;
      return [await arena.send({ gzip: true, body })];
    });
    expect(statusesOf(outcome.answers)).toEqual({ 200: 1 });
    expect((await stat(arena.databaseFile)).size - before).toBeLessThan(32 * MIB);
  });

  test('tens of MiB of the smallest spans: 50,000 are stored, and the answer counts the rejected ones', async () => {
    const bytes = scaled({ usual: 20, full: 60 }) * MIB;
    const outcome = await attackWith({ body: tinySpans(bytes) }, 1);
    expect(statusesOf(outcome.answers)).toEqual({ 200: 1 });
    expect(outcome.answers[0]?.text).toContain('at most 50000');
  });

  test('tens of MiB of the smallest spans in JSON', async () => {
    const bytes = scaled({ usual: 12, full: 60 }) * MIB;
    const outcome = await attackWith({ contentType: JSON_TYPE, body: tinyJsonSpans(bytes) }, 1);
    expectOnly(outcome, [200, 413]);
  });

  test('many concurrent requests of 117 KiB that decompress to gigabytes get a final answer or Retry-After', async () => {
    const body = bomb(117 * MIB);
    expect(body.length).toBeLessThan(120 * 1024);
    expectOnly(await attackWith({ gzip: true, body }, scaled({ usual: 12, full: 60 })), [413, 429]);
  });

  test('JSON with twenty million values in 60 KiB of gzip is 413', async () => {
    const outcome = await attackWith({ contentType: JSON_TYPE, gzip: true, body: gzipSync(manyValues(60 * MIB)) }, 2);
    expectOnly(outcome, [413, 429]);
  });

  test('spans with empty events, which take thirty times their size when they are stored', async () => {
    expectOnly(await attackWith({ body: emptyEvents(5 * MIB) }, 1), [200]);
  });

  test('many concurrent requests, each with as many spans as fit into a small body', async () => {
    expectOnly(await attackWith({ body: tinySpans(MIB - 100) }, scaled({ usual: 5, full: 12 })), [200, 429]);
  });

  test('a trace whose spans answer 124 MB is read in pages of 8 MiB', async () => {
    await arena.keepContentOfAttacker();
    expect((await arena.send({ body: largeTrace(58, 2000) })).status).toBe(200);
    const outcome = await expectHarmless(() => arena.readTrace(LARGE_TRACE_ID), PAGE_MS);
    expect(statusesOf(outcome.answers)).toEqual({ 200: outcome.answers.length });
    const sizes = outcome.answers.map(({ length }) => length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(110_000_000);
    expect(Math.max(...sizes)).toBeLessThan(9 * MIB);
  });

  test('logs and metrics that decompress to more than the limit', async () => {
    const body = bomb(117 * MIB);
    for (const path of ['/v1/logs', '/v1/metrics']) {
      expectOnly(await attackWith({ path, gzip: true, body }, scaled({ usual: 2, full: 4 })), [413, 429]);
    }
  });
});
