# Runs Node with the compile cache of the server, which halves the start-up time. Node reads this variable before it loads any
# file, so main.ts cannot set it in time for type stripping. `exec` replaces the shell, so that signals reach Node directly.
NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-node_modules/.cache/quartermaster}" exec node "$@"
