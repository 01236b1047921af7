import type { z } from 'zod';
import { booleanIn, integerIn } from '../messages/query.ts';
import { defOf, isInteger } from '../messages/schemas.ts';

/** The type and message that pydantic v2 gives an error. */
export type Wording = { type: string; msg: string; ctx?: Record<string, unknown> };

type Issue = z.core.$ZodIssue;
type IssueOf<Code extends Issue['code']> = Extract<Issue, { code: Code }>;

export const MISSING: Wording = { type: 'missing', msg: 'Field required' };

/**
 * Translates one zod issue into pydantic v2's type and message.
 *
 * @param value what was sent.
 * @param schemas what may have refused it; zod's issue alone does not tell an integer from a number.
 */
export function wordingOf(issue: Issue, value: unknown, schemas: readonly z.ZodType[]): Wording {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue, value, schemas);
    case 'too_small':
    case 'too_big':
      return wrongSize(issue, value);
    case 'not_multiple_of': {
      const multiple = Number(issue.divisor);
      return { type: 'multiple_of', msg: `Input should be a multiple of ${multiple}`, ctx: { multiple_of: multiple } };
    }
    case 'invalid_format':
      return wrongFormat(issue, value);
    case 'invalid_value':
      return wrongValue(issue, schemas);
    case 'invalid_union':
      return wrongTag(issue, value);
    default:
      return ruleBroken(issue.message);
  }
}

/** `'a', 'b' or 'c'`. */
function listed(values: readonly unknown[]): string {
  const names = values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
  const last = names.pop() ?? '';
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`;
}

function ruleBroken(rule: string): Wording {
  return { type: 'value_error', msg: `Value error, ${rule}`, ctx: { error: rule } };
}

function wrongType(issue: IssueOf<'invalid_type'>, value: unknown, schemas: readonly z.ZodType[]): Wording {
  switch (issue.expected) {
    case 'string':
      return { type: 'string_type', msg: 'Input should be a valid string' };
    case 'int':
      return { type: 'int_from_float', msg: 'Input should be a valid integer, got a number with a fractional part' };
    case 'number':
      return schemas.some(isInteger) ? noInteger(value) : noNumber(value);
    case 'boolean':
      return noBoolean(value);
    case 'array':
    case 'tuple':
      return { type: 'list_type', msg: 'Input should be a valid list' };
    case 'object':
      return {
        type: 'model_attributes_type',
        msg: 'Input should be a valid dictionary or object to extract fields from',
      };
    case 'record':
      return { type: 'dict_type', msg: 'Input should be a valid dictionary' };
    case 'null':
      return { type: 'none_required', msg: 'Input should be None' };
    default:
      return ruleBroken(issue.message);
  }
}

function noInteger(value: unknown): Wording {
  // In a body, a string is not a number, even if it contains one.
  if (typeof value === 'string' && integerIn(value) === null) {
    return { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' };
  }
  if (typeof value === 'number') return { type: 'finite_number', msg: 'Input should be a finite number' };
  return { type: 'int_type', msg: 'Input should be a valid integer' };
}

function noNumber(value: unknown): Wording {
  if (typeof value === 'string') {
    return { type: 'float_parsing', msg: 'Input should be a valid number, unable to parse string as a number' };
  }
  if (typeof value === 'number') return { type: 'finite_number', msg: 'Input should be a finite number' };
  return { type: 'float_type', msg: 'Input should be a valid number' };
}

function noBoolean(value: unknown): Wording {
  const unreadable =
    (typeof value === 'string' && booleanIn(value) === null) || (Number.isInteger(value) && value !== 0 && value !== 1);
  return unreadable
    ? { type: 'bool_parsing', msg: 'Input should be a valid boolean, unable to interpret input' }
    : { type: 'bool_type', msg: 'Input should be a valid boolean' };
}

function wrongSize(issue: IssueOf<'too_small'> | IssueOf<'too_big'>, value: unknown): Wording {
  const small = issue.code === 'too_small';
  const limit = Number(small ? issue.minimum : issue.maximum);
  if (issue.origin === 'string') {
    const msg = `String should have at ${small ? 'least' : 'most'} ${limit} ${limit === 1 ? 'character' : 'characters'}`;
    return small
      ? { type: 'string_too_short', msg, ctx: { min_length: limit } }
      : { type: 'string_too_long', msg, ctx: { max_length: limit } };
  }
  if (issue.origin === 'number' || issue.origin === 'int' || issue.origin === 'bigint') {
    const side = small ? 'greater' : 'less';
    if (issue.inclusive === false) {
      return {
        type: `${side}_than`,
        msg: `Input should be ${side} than ${limit}`,
        ctx: { [small ? 'gt' : 'lt']: limit },
      };
    }
    return {
      type: `${side}_than_equal`,
      msg: `Input should be ${side} than or equal to ${limit}`,
      ctx: { [small ? 'ge' : 'le']: limit },
    };
  }
  const length = Array.isArray(value) ? value.length : Object.keys(Object(value)).length;
  const field = Array.isArray(value) ? 'List' : 'Dictionary';
  return {
    type: small ? 'too_short' : 'too_long',
    msg: `${field} should have at ${small ? 'least' : 'most'} ${limit} ${limit === 1 ? 'item' : 'items'} after validation, not ${length}`,
    ctx: { field_type: field, [small ? 'min_length' : 'max_length']: limit, actual_length: length },
  };
}

function wrongFormat(issue: IssueOf<'invalid_format'>, value: unknown): Wording {
  const text = String(value);
  switch (issue.format) {
    case 'email': {
      const reason = 'value is not a valid email address';
      return { type: 'value_error', msg: reason, ctx: { reason } };
    }
    case 'datetime': {
      const error = text.length < 10 ? 'input is too short' : 'expected RFC 3339 with an offset';
      return {
        type: 'datetime_from_date_parsing',
        msg: `Input should be a valid datetime or date, ${error}`,
        ctx: { error },
      };
    }
    case 'url': {
      const error = URL.canParse(text) ? 'with a scheme that is allowed here' : 'relative URL without a base';
      return { type: 'url_parsing', msg: `Input should be a valid URL, ${error}`, ctx: { error } };
    }
    case 'uuid': {
      const error = 'expected 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12';
      return { type: 'uuid_parsing', msg: `Input should be a valid UUID, ${error}`, ctx: { error } };
    }
    default: {
      if (issue.pattern === undefined) return ruleBroken(issue.message);
      const pattern = issue.pattern.slice(1, issue.pattern.lastIndexOf('/'));
      return { type: 'string_pattern_mismatch', msg: `String should match pattern '${pattern}'`, ctx: { pattern } };
    }
  }
}

function wrongValue(issue: IssueOf<'invalid_value'>, schemas: readonly z.ZodType[]): Wording {
  const literal = schemas.length > 0 ? schemas.every((schema) => defOf(schema).type === 'literal') : false;
  const expected = listed(issue.values);
  return { type: literal ? 'literal_error' : 'enum', msg: `Input should be ${expected}`, ctx: { expected } };
}

/** A tagged union without this tag. Other unions were replaced by the issues of their best option. */
function wrongTag(issue: IssueOf<'invalid_union'>, value: unknown): Wording {
  const { discriminator, options } = issue as { discriminator?: string; options?: readonly unknown[] };
  if (discriminator === undefined) return ruleBroken(issue.message);
  const tag = (value as Record<string, unknown> | null)?.[discriminator];
  const named = `'${discriminator}'`;
  if (tag === undefined) {
    const msg = `Unable to extract tag using discriminator ${named}`;
    return { type: 'union_tag_not_found', msg, ctx: { discriminator: named } };
  }
  const expected = (options ?? []).map((option) => `'${String(option)}'`).join(', ');
  const shown = String(tag).slice(0, 64).toWellFormed();
  return {
    type: 'union_tag_invalid',
    msg: `Input tag '${shown}' found using ${named} does not match any of the expected tags: ${expected}`,
    ctx: { discriminator: named, tag: shown, expected_tags: expected },
  };
}
