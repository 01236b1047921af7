/**
 * What the entity tag of a record is made of: every field but `updatedAt` and these. They change without anybody deciding so
 * (when it was last used, what was counted, how it is doing), or with the clock, and must not get in the way of who decides.
 */
export type TaggedRecord = { readonly untagged: readonly string[] };
