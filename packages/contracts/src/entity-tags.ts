/**
 * The fields that a record's entity tag does not cover, beside `updatedAt`. They change without a decision by a caller:
 * times of last use, counts, health, and values that depend on the clock. If the tag covered them, they would make
 * conditional updates fail (412) that do not conflict.
 */
export type TaggedRecord = { readonly tagExcludes: readonly string[] };
