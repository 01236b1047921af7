const NAMES = ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC'];

/** The variables of libfaketime, if the tests run with it, for programs that get an environment of their own. */
export const FAKED_TIME: Record<string, string> = Object.fromEntries(
  NAMES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
