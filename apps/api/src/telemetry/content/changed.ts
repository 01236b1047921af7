/** Maps an object once, and answers the same result for it from then on. */
export function once<T extends object>(done: WeakMap<T, T>, input: T, map: (input: T) => T): T {
  let output = done.get(input);
  if (output === undefined) {
    output = map(input);
    done.set(input, output);
  }
  return output;
}

/** The object itself where every given field is what it has already. */
export function changedOnly<T extends object>(object: T, fields: Partial<T>): T {
  const same = (Object.keys(fields) as (keyof T)[]).every((key) => fields[key] === object[key]);
  return same ? object : { ...object, ...fields };
}

export function changedItems<T>(items: T[], map: (item: T) => T): T[] {
  const mapped = items.map(map);
  return mapped.every((item, i) => item === items[i]) ? items : mapped;
}
