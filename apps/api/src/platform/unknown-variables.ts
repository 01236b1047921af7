/** Variables that other programs of this repository read. A shell may export them for all programs. */
const OTHER_PROGRAMS: ReadonlySet<string> = new Set(['QM_URL', 'QM_API_KEY', 'QM_TOKEN', 'QM_CLIENT_OUTPUT']);

const TESTS = /^QM_TEST_/;

/** Variables that Kubernetes sets in every container for a service that is called `qm` or `qm-something`. */
const KUBERNETES = /^QM_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const KUBERNETES_LINK = /^(tcp|udp|sctp):\/\//;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds variables that look like settings but are not. Otherwise a mistyped name would silently leave a limit or a protection
 * at its default.
 *
 * @param known the names of all settings
 * @returns one line for each, with the most similar setting, without values
 */
export function unknownVariables(environment: Environment, known: readonly string[]): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('QM_') && !known.includes(name) && isMeantForTheService(name, environment))
    .toSorted()
    .map((name) => `${name}: is not a setting. Did you mean ${nearest(name, known)}?`);
}

function isMeantForTheService(name: string, environment: Environment): boolean {
  const value = environment[name] ?? '';
  // An empty variable counts as unset, like an empty setting.
  if (value === '' || OTHER_PROGRAMS.has(name) || TESTS.test(name)) return false;
  if (KUBERNETES.test(name)) return false;
  if (/^QM_(\w+_)?PORT$/.test(name) && KUBERNETES_LINK.test(value)) return false;
  // QM_PORT is not a setting, but some people export the port under both names. That is harmless if PORT has the same value.
  return !(name === 'QM_PORT' && value === (environment['PORT'] || '8080'));
}

function nearest(name: string, known: readonly string[]): string {
  const [first = '', ...others] = known;
  let best = { name: first, distance: distance(name, first) };
  for (const other of others) {
    const candidate = { name: other, distance: distance(name, other) };
    if (candidate.distance < best.distance) best = candidate;
  }
  return best.name;
}

/** The Levenshtein distance of two names. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, left] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, right] of Array.from(b).entries()) {
      const replaced = (row[j] ?? 0) + (left === right ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
