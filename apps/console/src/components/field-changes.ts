/** A field that differs, with its values as text. Null: it is not there. */
export type FieldChange = { path: string; before: string | null; after: string | null };

/** The fields that differ between two definitions or records, sorted by their paths. */
export function fieldChanges(before: object, after: object): FieldChange[] {
  const left = flattened(before);
  const right = flattened(after);
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((path) => path !== 'schemaDigest' && left.get(path) !== right.get(path))
    .toSorted()
    .map((path) => ({ path, before: left.get(path) ?? null, after: right.get(path) ?? null }));
}

/** Each leaf by its path. Lists of plain values, such as `required`, are one field: their order rarely matters. */
function flattened(value: unknown, path = '', found = new Map<string, string>()): Map<string, string> {
  if (value === null || value === undefined) return found;
  const isPlainList = Array.isArray(value) && value.every((each) => typeof each !== 'object' || each === null);
  if (typeof value !== 'object') found.set(path, String(value));
  else if (isPlainList) found.set(path, value.map(String).toSorted().join(', '));
  else for (const [key, each] of Object.entries(value)) flattened(each, path === '' ? key : `${path}.${key}`, found);
  return found;
}

const URL_PATTERN = /\bhttps?:\/\/[^\s"'<>)]+/gi;

/** Texts that address the model rather than describe the tool. */
const INSTRUCTION =
  /\b(ignore|disregard|always|never|must|do not|don't|secret(ly)?|without (telling|asking)|instead of|system prompt|before (using|calling))\b/i;

/** What a reviewer must not overlook. */
export function warningsOf(changes: readonly FieldChange[]): string[] {
  return changes.flatMap(({ path, before, after }) => {
    const warnings: string[] = [];
    const added = (after?.match(URL_PATTERN) ?? []).filter((url) => before?.includes(url) !== true);
    for (const url of added) warnings.push(`${path} now contains the address ${url}`);
    if (after !== null && INSTRUCTION.test(after) && (before === null || !INSTRUCTION.test(before))) {
      warnings.push(`${path} now reads like an instruction to the model`);
    }
    if (path.includes('annotations'))
      warnings.push(`The annotation ${path.split('.').at(-1)} changed: ${before ?? 'none'} to ${after ?? 'none'}`);
    return warnings;
  });
}
