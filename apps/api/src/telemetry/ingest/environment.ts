import { OTHER_ENVIRONMENT } from '../../governance/observations/sightings.ts';
import { hasEncodedText } from '../encoded-text.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import type { OtlpSpan } from '../otlp/span.ts';

/**
 * The environment of a span's service in lower case, from the resource: `production`. The older name of the attribute counts if
 * the newer one is missing. A text that is not a plain name is `other`. Null if the resource names none.
 */
export function environmentOf({ resource }: Pick<OtlpSpan, 'resource'>): string | null {
  const written = resource['deployment.environment.name'] ?? resource['deployment.environment'];
  return typeof written === 'string' ? nameOf(written) : null;
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

const nameOf = memoizeByName((written: string): string | null => {
  const name = written.trim().toLowerCase();
  if (name === '') return null;
  return NAME.test(name) && !hasEncodedText(name) ? name : OTHER_ENVIRONMENT;
});
