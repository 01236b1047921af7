import { z } from 'zod';
import { withAsciiDomain } from './email-domain.ts';
import { hidesText, visibleLine, visibleText, visibleValue } from './visible-text.ts';

/** The maximum size of metadata, in bytes of UTF-8 when serialised as JSON. */
export const METADATA_MAX_BYTES = 16 * 1024;

/** An identifier that a caller chooses. */
export const IdentifierSchema = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*$/)
  .describe('1 to 128 characters of `A-Z a-z 0-9 . _ : -`. The first one is a letter or digit.');

/**
 * An identifier that a record is looked up by. It may be any string: a malformed id is answered like an unknown one, so
 * that the answer does not reveal which ids can exist.
 */
export const LookupIdSchema = z.string().min(1).max(256);

export const TenantIdSchema = IdentifierSchema.describe('The tenant that the record belongs to.');
export const SubTenantIdSchema = IdentifierSchema.nullable().describe(
  'The sub-tenant that the record belongs to. Null if it belongs to the whole tenant.',
);

/** RFC 3339 in UTC with milliseconds. */
export const TimestampSchema = z.iso.datetime({ precision: 3 }).meta({
  id: 'Timestamp',
  description: 'An RFC 3339 time in UTC with milliseconds, such as `2026-03-01T12:00:00.000Z`.',
});

/** A time that a caller sends: RFC 3339 with any offset. It is converted to UTC with milliseconds. */
export const TimestampInputSchema = z.iso
  .datetime({ offset: true, abort: true })
  .refine((text) => /^\d{4}-/.test(toUtc(text)), { error: 'the year should be 0000 to 9999 in UTC', abort: true })
  .overwrite(toUtc)
  .describe('An RFC 3339 time with any offset.');

export const NameSchema = z.string().min(1).max(200);

/** A name that a caller sends. It must look like what it is, so nothing in it may hide or reorder text. */
export const NameInputSchema = NameSchema.refine((text) => text === text.trim() && !hidesText(text), {
  error: 'name should not begin or end with a space, and should have no control characters or invisible characters',
});

/**
 * The characters of a name that are invisible, or that change how others are shown: control characters, format
 * characters such as U+200B and the bidirectional marks, fillers, variation selectors, and every space except U+0020.
 */
export const HIDDEN_CHARACTER = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/u;

export const DisplayNameSchema = z.string().max(200);
export const DescriptionSchema = z.string().max(2000);

/** Invisible characters are escaped before they are stored, because people read these texts in lists beside other texts. */
export const DisplayNameInputSchema = z
  .string()
  .overwrite(visibleLine)
  .max(200)
  .describe('At most 200 characters. Invisible characters are stored as escapes, such as `\\u{202e}`.');
export const DescriptionInputSchema = z
  .string()
  .overwrite(visibleText)
  .max(2000)
  .describe(
    'At most 2000 characters. Invisible characters other than line breaks and tabs are stored as escapes, such as `\\u{202e}`.',
  );

/** The reason for a decision, in the words of the person who made it. */
export const NoteInputSchema = z.string().overwrite(visibleText).max(2000);

/**
 * A dot-atom before the @-sign (RFC 5322, section 3.4.1) and a domain with a top-level domain, which may be in punycode. The pattern
 * of zod refuses some of these addresses.
 */
const ASCII_EMAIL =
  /^(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+\.)*[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+(?:[A-Za-z]{2,}|[Xx][Nn]--[A-Za-z0-9-]+)$/;

/** The same with an internationalised domain, which is written without the flag `u`, so that every reader of JSON Schema takes it. */
const EMAIL =
  /^(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+\.)*[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+@(?:[A-Za-z0-9\u0080-\uffff][A-Za-z0-9\u0080-\uffff-]*\.)+(?:[A-Za-z\u0080-\uffff]{2,}|[Xx][Nn]--[A-Za-z0-9-]+)$/;

export const EmailSchema = z
  .email({ pattern: EMAIL, abort: true })
  .max(254)
  .refine((email) => isAsciiEmail(withAsciiDomain(email)), { error: 'the domain of the email is not valid' })
  .describe(
    'An email address. Its domain may be internationalised, such as `例え.テスト`, or in punycode. It is compared case-insensitively, and by the punycode of its domain.',
  );

function isAsciiEmail(email: string): boolean {
  return ASCII_EMAIL.test(email) && email.length <= 254;
}

const isShortMetadata = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).length <= METADATA_MAX_BYTES;
const METADATA_TOO_LONG = { error: `metadata should have at most ${METADATA_MAX_BYTES} bytes when serialised as JSON` };
const ATTRIBUTES_TOO_LONG = {
  error: `attributes should have at most ${METADATA_MAX_BYTES} bytes when serialised as JSON, with escapes`,
};

/** A JSON object of the caller's own, stored as it was sent. */
export const MetadataSchema = z.record(z.string(), z.unknown()).refine(isShortMetadata, METADATA_TOO_LONG).meta({
  id: 'Metadata',
  description:
    'A JSON object with any members, at most 16 KiB when serialised. Integers beyond 2^53 - 1 have to be strings. Setting it replaces the whole object.',
});

/** JSON.parse rounds larger integers, such as 64-bit ids (RFC 7493, section 2.2). */
function hasOnlyExactIntegers(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(hasOnlyExactIntegers);
}

/** A check of metadata in a request. */
export const exactIntegers = z.refine(hasOnlyExactIntegers, {
  error: 'metadata should have no integers beyond 2^53 - 1, because they would be rounded: write them as strings',
});

/** Metadata in a request. */
export const MetadataInputSchema = MetadataSchema.check(exactIntegers);

/**
 * The attributes of an inventory item. They usually come from a provider, and people read them to decide. So their texts are escaped,
 * as titles are.
 */
export const AttributesInputSchema = z
  .record(z.string(), z.unknown())
  .refine(isShortMetadata, ATTRIBUTES_TOO_LONG)
  .overwrite(visibleValue)
  .refine(isShortMetadata, ATTRIBUTES_TOO_LONG)
  .meta({
    id: 'ItemAttributesInput',
    description:
      'A JSON object with any members, at most 16 KiB when serialised. Setting it replaces the whole object. Invisible characters other than line breaks and tabs are stored as escapes, such as `\\u{202e}`.',
  });

/** The fields of every record that belongs to a tenant. */
export const tenancyFields = { tenantId: TenantIdSchema, subTenantId: SubTenantIdSchema };

/** When a record was created, and when it last changed. */
export const timeFields = { createdAt: TimestampSchema, updatedAt: TimestampSchema };

/** The tenant and sub-tenant of a new record. */
export const tenancyInputFields = {
  tenantId: IdentifierSchema.nullish().describe(
    "The tenant of the record. If it is left out, the caller's tenant is used. A caller with several tenants must name one.",
  ),
  subTenantId: IdentifierSchema.nullish().describe(
    'The sub-tenant of the record. If it is left out, the record belongs to the whole tenant, or to the sub-tenant that the caller is limited to. A caller with several sub-tenants must name one.',
  ),
};

/** The id of a tenant or sub-tenant in a query. An empty string means that it is left out. */
export const TenantFilterSchema = z
  .string()
  .max(128)
  .regex(/^([A-Za-z0-9][A-Za-z0-9._:-]*)?$/)
  .nullish();

/** The filters by tenant and sub-tenant in the body of a search. */
export const tenancySearchFields = {
  tenantId: TenantFilterSchema.describe(
    'Only records of this tenant. If it is left out or empty: records of all tenants in reach.',
  ),
  subTenantId: TenantFilterSchema.describe(
    'Only records of this sub-tenant. If it is left out or empty: records of the tenants and of all sub-tenants in reach.',
  ),
};

/** The filters by tenant and sub-tenant in the query of a list. */
export const tenancyQueryFields = {
  tenant_id: tenancySearchFields.tenantId.meta({ param: { id: 'TenantFilter' } }),
  sub_tenant_id: tenancySearchFields.subTenantId.meta({ param: { id: 'SubTenantFilter' } }),
};

/** The query parameters that tell service accounts of the same id apart. */
export const accountPlaceFields = {
  tenant_id: TenantFilterSchema.meta({
    description: 'The tenant of the account. Required if accounts in several tenants in reach have this id.',
    param: { id: 'AccountTenant' },
  }),
  sub_tenant_id: TenantFilterSchema.meta({
    description: 'The sub-tenant of the account.',
    param: { id: 'AccountSubTenant' },
  }),
};

/** Converts a time to UTC with milliseconds. Returns a text that is not a time unchanged: the format check refuses it. */
function toUtc(text: string): string {
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? text : moment.toISOString();
}
