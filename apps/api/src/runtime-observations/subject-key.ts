import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';

/** What tells subjects of providers apart. The key of the name comes last: it may hold anything. */
export function subjectKey(subject: { providerId: string; kind: InventoryKind; nameKey: string }): string {
  return `${subject.providerId} ${subject.kind} ${subject.nameKey}`;
}
