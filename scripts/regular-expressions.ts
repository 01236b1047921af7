/** A pattern that matches this text and nothing else: vitest takes the name of a test as a regular expression. */
export function regexEscaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
