/** Some browsers name a language that `Intl` refuses, such as `en-US@posix`. Libraries that ask for it would fail. */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}
