/**
 * Every difference between what the recordings' programs really did and what is read of them. Nothing else may differ: a
 * difference that is not listed fails the suite, and so does one that is listed and gone.
 *
 * `cannotKnow`: the telemetry does not say it; the recording's own `cannotKnow` says why. `gaps`: it could be read and is not
 * yet.
 */
export const KNOWN_DEVIATIONS: Readonly<Record<string, { cannotKnow?: readonly string[]; gaps?: readonly string[] }>> =
  {};
