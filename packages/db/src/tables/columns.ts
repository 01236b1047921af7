/** Text of JSON, written and read by the repositories. */
export type Json = string;
/** RFC 3339, UTC, milliseconds. The fixed width makes it sort as text. */
export type Time = string;
/** RFC 3339, UTC, nanoseconds. */
export type NanoTime = string;
/** 0 or 1, since SQLite has no booleans. */
export type Flag = 0 | 1;

/** The place of a row. An absent sub-tenant is '', because null would break unique indexes. */
export type Place = { tenant_id: string; sub_tenant_id: string };
export type Times = { created_at: Time; updated_at: Time };
