/** A moment on two clocks. */
export type Moment = { wall: number; steady: number };

export function moment(): Moment {
  return { wall: Date.now(), steady: performance.now() };
}

/**
 * Milliseconds since a moment. The larger one of two clocks, because the wall clock may be set back, and the steady clock may
 * stand still while the machine sleeps.
 */
export function ageOf({ wall, steady }: Moment): number {
  return Math.max(Date.now() - wall, performance.now() - steady);
}
