import type { Span } from '@quartermaster/contracts/traces.ts';

const MAX_LENGTH = 200;

/**
 * The class of the error that a stored span reports: its `error.type`, or else the type of its first exception. Both are stored
 * only if they look like the name of a class or a code, so neither is content.
 */
export function errorTypeOf({ attributes, events }: Pick<Span, 'attributes' | 'events'>): string | null {
  const ofException = () => events.find((event) => typeof event.attributes['exception.type'] === 'string')?.attributes;
  const type = attributes['error.type'] ?? ofException()?.['exception.type'];
  return typeof type === 'string' && type !== '' ? type.slice(0, MAX_LENGTH) : null;
}
