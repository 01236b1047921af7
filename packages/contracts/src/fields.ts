import { z } from 'zod';

/** Serialised metadata, in bytes of UTF-8. */
export const METADATA_MAX_BYTES = 16 * 1024;

/** An identifier that a caller chooses. */
export const IdentifierSchema = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*$/)
  .describe('1 to 128 of `A-Z a-z 0-9 . _ : -`, the first one alphanumeric.');

/**
 * An identifier where a record is looked up. Any string will do: one that cannot exist is simply not found, so that a
 * malformed id tells no more than an unknown one.
 */
export const LookupIdSchema = z.string().min(1).max(256);

export const TenantIdSchema = IdentifierSchema.describe('The tenant that the record belongs to.');
export const SubTenantIdSchema = IdentifierSchema.nullable().describe(
  'The sub-tenant that the record belongs to; null where it belongs to the tenant as a whole.',
);

/** RFC 3339, UTC, milliseconds. */
export const TimestampSchema = z.iso
  .datetime({ precision: 3 })
  .meta({ id: 'Timestamp', description: 'RFC 3339, UTC, milliseconds.' });

/** RFC 3339 with any offset, as callers write it; becomes UTC with milliseconds. */
export const TimestampInputSchema = z.iso
  .datetime({ offset: true, abort: true })
  .refine((text) => /^\d{4}-/.test(utc(text)), { error: 'the year should be one of 0000 to 9999 in UTC', abort: true })
  .overwrite(utc)
  .describe('RFC 3339 with any offset.');

export const NameSchema = z.string().min(1).max(200);

/** A name that looks like what it is: no spaces around it, no control characters, nothing that reorders or hides text. */
export const NameInputSchema = NameSchema.refine(
  (text) => text === text.trim() && !/[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u.test(text),
  {
    error: 'name should have no spaces around it, no control characters and no invisible ones',
  },
);
/**
 * The characters of a name that no eye sees, or that change what it sees: controls, formats such as U+200B and the bidi
 * marks, fillers and variation selectors, and every space but the plain one.
 */
export const HIDDEN_CHARACTER = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/u;

export const DisplayNameSchema = z.string().max(200);
export const DescriptionSchema = z.string().max(2000);

export const EmailSchema = z.email().max(254).describe('Matched without regard to case.');

/** A free JSON object. */
export const MetadataSchema = z
  .record(z.string(), z.unknown())
  .refine((value) => new TextEncoder().encode(JSON.stringify(value)).length <= METADATA_MAX_BYTES, {
    error: `metadata should have at most ${METADATA_MAX_BYTES} bytes when serialised`,
  })
  .meta({
    id: 'Metadata',
    description: 'A free JSON object, at most 16 KiB when serialised. A set value replaces it whole.',
  });

/** What stands on every record that belongs to a tenant. */
export const tenancyFields = { tenantId: TenantIdSchema, subTenantId: SubTenantIdSchema };

/** When a record was made, and last changed. */
export const timeFields = { createdAt: TimestampSchema, updatedAt: TimestampSchema };

/** Where a new record shall stand. */
export const tenancyInputFields = {
  tenantId: IdentifierSchema.nullish().describe(
    "The tenant of the record. Where it is left out: the caller's one tenant; a caller who has several must name one.",
  ),
  subTenantId: IdentifierSchema.nullish().describe('The sub-tenant of the record; none where it is left out.'),
};

/** The id of a tenant or sub-tenant in a query. Empty means left out. */
export const TenantFilterSchema = z
  .string()
  .max(128)
  .regex(/^([A-Za-z0-9][A-Za-z0-9._:-]*)?$/)
  .nullish();

/** As searches have it in their bodies: narrows them to one tenant or sub-tenant. */
export const tenancySearchFields = {
  tenantId: TenantFilterSchema.describe('Only records of this tenant. Left out or empty: of everything in reach.'),
  subTenantId: TenantFilterSchema.describe(
    'Only records of this sub-tenant. Left out or empty: of everything in reach.',
  ),
};

/** The same for lists, in the query. */
export const tenancyQueryFields = {
  tenant_id: tenancySearchFields.tenantId.meta({ param: { id: 'TenantFilter' } }),
  sub_tenant_id: tenancySearchFields.subTenantId.meta({ param: { id: 'SubTenantFilter' } }),
};

/** Where a service account is, as operations on one account take it in the query. */
export const accountPlaceFields = {
  tenant_id: TenantFilterSchema.meta({
    description: 'The tenant of the account. Needed if accounts in several tenants have this id.',
    param: { id: 'AccountTenant' },
  }),
  sub_tenant_id: TenantFilterSchema.meta({
    description: 'The sub-tenant of the account.',
    param: { id: 'AccountSubTenant' },
  }),
};

/** The same moment in UTC with milliseconds; as it stands where it is no moment, which the format refuses. */
function utc(text: string): string {
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? text : moment.toISOString();
}
