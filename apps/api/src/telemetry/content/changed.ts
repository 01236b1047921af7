/** Maps an object, or returns the result of an earlier call for the same object. */
export function mapOnce<T extends object>(done: WeakMap<T, T>, input: T, map: (input: T) => T): T {
  let output = done.get(input);
  if (output === undefined) {
    output = map(input);
    done.set(input, output);
  }
  return output;
}

/** Replaces fields of an object. Returns the object itself if nothing changes. */
export function withFields<T extends object>(object: T, fields: Partial<T>): T {
  const same = (Object.keys(fields) as (keyof T)[]).every((key) => fields[key] === object[key]);
  return same ? object : { ...object, ...fields };
}

/** Maps the items of an array. Returns the array itself if nothing changes. */
export function mapItems<T>(items: T[], map: (item: T) => T): T[] {
  if (items.length === 0) return items;
  const mapped = items.map(map);
  return mapped.every((item, i) => item === items[i]) ? items : mapped;
}
