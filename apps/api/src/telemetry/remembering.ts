const MAX_NAMES = 4000;
const MAX_NAME_CHARACTERS = 128;

/**
 * A function of a name that remembers its results. Senders use the same few names again and again. Beyond the bound all are
 * forgotten, and long names are never remembered, so a sender of many names costs time but no memory.
 */
export function remembering<T>(find: (name: string) => T): (name: string) => T {
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
