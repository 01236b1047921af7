import { expect, test } from 'vitest';
import { DIALECTS } from '../../../src/telemetry/frameworks/list.ts';
import { contentTests } from './content-markers.ts';
import { oneForEachDialect } from './samples.ts';

// The deep form plants in all of them.
const samples = oneForEachDialect().filter((_, index) => index % 6 === 0);
contentTests(samples.map(({ id, requests }) => ({ name: id, into: 'texts', requests })));

test.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const))(
  'the dialect %s declares no attribute safe whose name sounds like content',
  (_name, { safe = [] }) => {
    expect(safe.filter((name) => NAMED_LIKE_CONTENT.test(name))).toEqual([]);
  },
);

/** Last parts of names whose values are free text in some framework. */
const NAMED_LIKE_CONTENT =
  /(?:^|[._:/-])(?<!usage_)(?:arguments?|args|body|command|content|description|documents?|header|headers|input|instructions?|messages?|metadata|output|parameters|prompts?|query|result|results|text)$/i;
