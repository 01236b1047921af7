import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';

/** A text that identifies a subject, as a map key. The key of the name comes last, because it may contain spaces. */
export function subjectKey(subject: { providerId: string; kind: InventoryKind; nameKey: string }): string {
  return `${subject.providerId} ${subject.kind} ${subject.nameKey}`;
}
