import { useState } from 'react';
import { idempotencyKey, ifMatch } from './client.ts';

/**
 * The headers with which a form sends its input, while it is open.
 *
 * - `Idempotency-Key`: the same for the same input. If an answer is lost and the user sends the form again, the server does not write
 *   a second time.
 * - `If-Match`: the tag of the record when the form opened. The page reads the record again meanwhile, but the fields still show the
 *   record as it was, so a newer tag would let the form overwrite the change of another person.
 *
 * @param path the record that the form changes, if it does not create one
 */
export function useFormHeaders(path?: string) {
  const [precondition] = useState(() => (path === undefined ? {} : ifMatch(path)));
  const [keys] = useState(() => new Map<string, ReturnType<typeof idempotencyKey>>());
  return (input: unknown) => {
    const text = JSON.stringify(input);
    const key = keys.get(text) ?? idempotencyKey();
    keys.set(text, key);
    return { ...key, ...precondition };
  };
}
