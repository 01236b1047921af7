import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

/**
 * The provider's storage. It is in memory, because the keys end with the process, too. It is a bounded LRU cache, because
 * anyone on this machine can start sign-ins without finishing them.
 */
export function memoryAdapter(maxEntries = 5000): AdapterFactory {
  const entries = new Map<string, Entry>();

  const get = (key: string): AdapterPayload | undefined => {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    entries.delete(key);
    if (entry.expiresAt <= Date.now()) return undefined;
    entries.set(key, entry);
    return entry.payload;
  };

  // A linear search: for a few thousand entries an index is not worth maintaining.
  const findBy = (model: string, matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined => {
    for (const [key, { payload }] of entries) {
      if (key.startsWith(`${model}:`) && matches(payload)) return get(key);
    }
    return undefined;
  };

  return (model): Adapter => ({
    async upsert(id, payload, expiresIn) {
      const key = `${model}:${id}`;
      entries.delete(key);
      entries.set(key, { payload, expiresAt: expiresIn === undefined ? Infinity : Date.now() + expiresIn * 1000 });
      const oldest = entries.keys().next().value;
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    },
    async find(id) {
      return get(`${model}:${id}`);
    },
    async findByUid(uid) {
      return findBy(model, (payload) => payload.uid === uid);
    },
    async findByUserCode(userCode) {
      return findBy(model, (payload) => payload.userCode === userCode);
    },
    async consume(id) {
      const payload = get(`${model}:${id}`);
      if (payload) payload.consumed = Math.floor(Date.now() / 1000);
    },
    async destroy(id) {
      entries.delete(`${model}:${id}`);
    },
    async revokeByGrantId(grantId) {
      for (const [key, { payload }] of entries) {
        if (payload.grantId === grantId) entries.delete(key);
      }
    },
  });
}

type Entry = { payload: AdapterPayload; expiresAt: number };
