/** Case-folds a name for comparisons. This happens in JavaScript, because SQL engines differ beyond ASCII. */
export function caseFolded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
