/** Letters, marks, digits and hyphens between dots. Unlike an ASCII domain it may have letters of any script. */
const INTERNATIONAL_DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u;

const NON_ASCII = /[\u0080-\uffff]/;

/** The email with the ASCII form of its domain. An email whose domain has none stays as it is. */
export function withAsciiDomain(email: string): string {
  const at = email.lastIndexOf('@') + 1;
  return email.slice(0, at) + (asciiDomain(email.slice(at)) ?? email.slice(at));
}

/**
 * The ASCII form of an internationalised domain (UTS 46): `xn--r8jz45g.xn--zckzah` for `例え.テスト`. An ASCII domain stays as it is.
 *
 * @returns null if it is no domain
 */
function asciiDomain(domain: string): string | null {
  if (!NON_ASCII.test(domain)) return domain;
  return INTERNATIONAL_DOMAIN.test(domain) ? (URL.parse(`http://${domain}`)?.hostname ?? null) : null;
}
