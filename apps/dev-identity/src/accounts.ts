import { hash } from 'node:crypto';

export type DevAccount = { email: string; displayName: string };

export type Accounts = {
  seeded: readonly DevAccount[];
  /** The account of a subject: a seeded one, or one that signed in since the start. */
  find: (sub: string) => DevAccount | undefined;
  /** Adds the account if it is new. Returns its subject. */
  signIn: (email: string) => string;
  claims: (account: DevAccount) => { email: string; email_verified: true; name: string };
};

export function createAccounts(seeded: readonly DevAccount[]): Accounts {
  const own = seeded.map(({ email, displayName }) => ({ email: requireEmail(email), displayName }));
  const bySubject = new Map(own.map((account) => [subjectOf(account.email), account]));
  const others = new Map<string, DevAccount>();

  return {
    seeded: own,
    find: (sub) => bySubject.get(sub) ?? others.get(sub),
    signIn(email) {
      const sub = subjectOf(email);
      if (bySubject.has(sub)) return sub;
      others.delete(sub);
      others.set(sub, { email, displayName: email });
      if (others.size > OTHER_ACCOUNTS_MAX) others.delete(others.keys().next().value ?? sub);
      return sub;
    },
    claims: ({ email, displayName }) => ({ email, email_verified: true, name: displayName }),
  };
}

/** The email in lower case, or undefined if the text is not an email. */
export function parseEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return email.length <= EMAIL_LENGTH_MAX && EMAIL.test(email) ? email : undefined;
}

// Far more than a person creates, so that no session outlives its account.
const OTHER_ACCOUNTS_MAX = 10_000;
const EMAIL_LENGTH_MAX = 254;
// The syntax of HTML's <input type="email">, so that the browser's check and ours agree.
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const EMAIL = new RegExp(`^[a-z0-9.!#$%&'*+/=?^_\`{|}~-]+@${LABEL}(?:\\.${LABEL})*$`);

/** Derived from the email alone, so that linked users stay the same after a restart. */
function subjectOf(email: string): string {
  return `dev-${hash('sha256', email).slice(0, 32)}`;
}

function requireEmail(text: string): string {
  const email = parseEmail(text);
  if (email === undefined) throw new TypeError(`not an email: ${JSON.stringify(text)}`);
  return email;
}
