import type { Virtualizer } from '@tanstack/react-virtual';

/** Scrolls to a row unless it is in view. The library would lay out the page again in any case. */
export function scrollIntoView(virtualizer: Virtualizer<HTMLDivElement, Element>, index: number): void {
  const { range } = virtualizer;
  // The first and the last row of the range may be cut off.
  const isInView = range !== null && index > range.startIndex && index < range.endIndex - 1;
  if (!isInView) virtualizer.scrollToIndex(index);
}
