import { useCallback, useEffect, useRef } from 'react';

/** @returns always the same function, which calls the latest handler. So a memoised component is not drawn again for it. */
export function useLatestHandler<Input extends unknown[]>(
  handler: (...input: Input) => void,
): (...input: Input) => void {
  const latest = useRef(handler);
  useEffect(() => {
    latest.current = handler;
  });
  return useCallback((...input: Input) => latest.current(...input), []);
}
