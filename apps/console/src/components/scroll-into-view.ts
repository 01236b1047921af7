import type { Virtualizer } from '@tanstack/react-virtual';

/** `top` and `height` of the row below the first one, and how much a head of the list covers, in pixels. */
type RowPlace = { top: number; height: number; covered?: number };

/** Scrolls to a row unless all of it is in view. The library's own function lays out the page twice, and knows of no head. */
export function scrollIntoView(
  { scrollElement, scrollOffset, scrollRect }: Virtualizer<HTMLDivElement, Element>,
  { top, height, covered = 0 }: RowPlace,
): void {
  if (scrollElement === null || scrollRect === null) return;
  const first = scrollOffset ?? 0;
  const room = scrollRect.height - covered;
  if (top < first) scrollElement.scrollTop = top;
  else if (top + height > first + room) scrollElement.scrollTop = top + height - room;
}
