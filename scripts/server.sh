# Runs Node for the server, with settings that Node and the C library read before they load any file, so that main.ts is too late
# for them. `exec` replaces the shell, so that signals reach Node directly.
#
# NODE_COMPILE_CACHE: the compile cache of the server, which halves the start-up time.
# --min-semi-space-size, --max-semi-space-size: MiB of each half of V8's space for new objects, in each thread. V8 begins with 1.
#   In a list of 25, one run each: p99 21.8 ms with at most 16, 14.4 ms with 16 from the start, 13.5 ms with 64. Memory at rest: 131 MB
#   with at most 16, 148 MB with 64.
# --heap-growing-percent: by how much the heap grows until all of it is collected, which blocks the event loop for 10 to 40 ms. V8's
#   own choice beside a hostile tenant was often 20 %: 51 and 61 such collections in 50 s, and 29 and 31 with 100 %.
# --expose-gc: main.ts collects the garbage of the start.
# MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_: bytes from which glibc returns freed memory to the system. Unless they are set,
#   glibc raises both to the largest block that was freed, and keeps the memory of large requests that have ended.
# MALLOC_ARENA_MAX: the parts of glibc's memory. It makes one for each thread, and what one part has free the others cannot use:
#   941 and 927 MiB beside a hostile tenant, and 914 and 907 MiB with two parts, in runs of a minute, in turn.
# UV_THREADPOOL_SIZE: libuv's threads. At most half of them look up names in DNS, and a look-up that gets no answer holds its thread
#   for 10 s or longer. With libuv's own 4, providers of two tenants could leave none to the identity provider.
#
# Measured beside a hostile tenant (`npm run torture -- --only tenants`): 1,070 to 1,170 MiB without the two thresholds, 875
# and 935 MiB with them. With 256 KiB in the place of 2 MiB about as much, but the system cleared each large answer's memory anew: the
# spans of a trace took 15 % more CPU time.
NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-node_modules/.cache/quartermaster}" \
MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_-2097152}" \
MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_-1048576}" \
MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX-2}" \
UV_THREADPOOL_SIZE="${UV_THREADPOOL_SIZE-8}" \
exec node --expose-gc --min-semi-space-size=64 --max-semi-space-size=64 --heap-growing-percent=100 "$@"
