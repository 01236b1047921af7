const MAX_NAMES = 4000;
const MAX_NAME_CHARACTERS = 128;

/**
 * Memoizes a function of a name, because senders use the same few names again and again. When the cache is full it is
 * cleared, and long names are never cached. So a sender of many different names costs time, but no memory.
 */
export function memoizeByName<T>(find: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const remembered = known.get(name);
    if (remembered !== undefined) return remembered;
    const found = find(name);
    if (name.length <= MAX_NAME_CHARACTERS) {
      if (known.size >= MAX_NAMES) known.clear();
      known.set(name, found);
    }
    return found;
  };
}
