/**
 * A member of a value that a caller or another server sent. Undefined if the value is not an object, or if it only inherits the
 * member, such as `constructor`.
 */
export function ownMember(value: unknown, name: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string | number, unknown>)[name];
}
