const MAX_SUBJECT_LENGTH = 255;

/**
 * Whether a claim is a `sub` that can be stored: 1 to 255 characters (OpenID Connect Core, section 2), without control characters
 * and lone surrogates. PostgreSQL refuses NUL, and lone surrogates of different subjects are stored as the same character.
 */
export function isSubject(sub: unknown): sub is string {
  return (
    typeof sub === 'string' && /^[^\p{Cc}]{1,255}$/u.test(sub) && sub.length <= MAX_SUBJECT_LENGTH && sub.isWellFormed()
  );
}
