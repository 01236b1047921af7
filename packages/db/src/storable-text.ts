/** Replaces what databases do not accept: PostgreSQL refuses NUL in text and jsonb, and lone surrogates have no UTF-8 form. */
export function storable(text: string): string {
  const wellFormed = text.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\ufffd') : wellFormed;
}
