/** A regular expression that matches exactly this text. vitest takes test names as regular expressions. */
export function regexEscaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
