/** The flags of `scripts/server.sh`, which says why. */
export const FLAGS = [
  '--expose-gc',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--heap-growing-percent=100',
] as const;

/** The variables of `scripts/server.sh`, for Node and the C library. */
export const ENVIRONMENT = {
  MALLOC_MMAP_THRESHOLD_: '2097152',
  MALLOC_TRIM_THRESHOLD_: '1048576',
  MALLOC_ARENA_MAX: '2',
  UV_THREADPOOL_SIZE: '8',
};
