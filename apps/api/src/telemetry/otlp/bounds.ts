import { LIMITS } from './assemble.ts';
import type { Attributes, AttributeValue, OtlpSpan } from './span.ts';
import { cutToBytes } from './text.ts';

/** The size of one stored span, after content was removed. */
export const SPAN_LIMITS = {
  /** A longer text is truncated. A larger list is replaced by `TOO_LARGE`. */
  attributeBytes: 256 * 1024,
  /** All attributes, events and links together. Attributes beyond it are removed. */
  spanBytes: 1024 * 1024,
  /** The status message, and the trace state. */
  textBytes: 16 * 1024,
} as const;

export const TOO_LARGE = '[too large]';

/** Estimated size of a value, in addition to its characters. */
const OVERHEAD = 16;

/** Removes, in place, the attributes that exceed a total size. */
export function boundAttributes(attributes: Attributes, maxBytes: number): void {
  let left = maxBytes;
  for (const [name, value] of Object.entries(attributes)) {
    left -= OVERHEAD + name.length + sizeOf(value);
    if (left < 0) delete attributes[name];
  }
}

/** Bounds the size of a scope, in place. */
export function boundScope(scope: OtlpSpan['scope']): void {
  scope.name = cutToBytes(scope.name, LIMITS.nameBytes);
  if (scope.version !== null) scope.version = cutToBytes(scope.version, LIMITS.nameBytes);
  boundAttributes(scope.attributes, LIMITS.scopeBytes);
}

/** Bounds the size of a span that is about to be stored, in place. Its resource and scope are bounded already. */
export function boundSpan(span: OtlpSpan): OtlpSpan {
  const budget = { left: SPAN_LIMITS.spanBytes };
  bound(span.attributes, budget);
  for (const part of [...span.events, ...span.links]) bound(part.attributes, budget);
  for (const event of span.events) event.name = cutToBytes(event.name, LIMITS.nameBytes);
  if (span.status.message !== null) span.status.message = cutToBytes(span.status.message, SPAN_LIMITS.textBytes);
  if (span.traceState !== null) span.traceState = cutToBytes(span.traceState, SPAN_LIMITS.textBytes);
  return span;
}

function bound(attributes: Attributes, budget: { left: number }): void {
  for (const name in attributes) {
    const value = attributes[name] ?? null;
    let size = sizeOf(value);
    if (size > SPAN_LIMITS.attributeBytes) {
      const smaller = typeof value === 'string' ? cutToBytes(value, SPAN_LIMITS.attributeBytes) : TOO_LARGE;
      attributes[name] = smaller;
      size = sizeOf(smaller);
    }
    budget.left -= OVERHEAD + name.length + size;
    if (budget.left < 0) delete attributes[name];
  }
}

/** Estimates the size of a value in bytes. Short texts count one byte per character, long texts are measured. */
function sizeOf(value: AttributeValue): number {
  if (typeof value === 'string') return value.length < 1024 ? value.length : Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return OVERHEAD;
  let size = OVERHEAD;
  if (Array.isArray(value)) {
    for (const item of value) size += OVERHEAD + sizeOf(item);
  } else {
    for (const [name, item] of Object.entries(value)) size += OVERHEAD + name.length + sizeOf(item);
  }
  return size;
}
