/** Variables that other programs of this repository read. A shell may well export them for all of them. */
const OF_OTHER_PROGRAMS: ReadonlySet<string> = new Set(['QM_URL', 'QM_API_KEY', 'QM_TOKEN', 'QM_CLIENT_OUTPUT']);

const OF_TESTS = /^QM_TEST_/;

/** What Kubernetes tells every container about a service that is called `qm`, or `qm-something`. */
const OF_KUBERNETES = /^QM_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const OF_KUBERNETES_LINK = /^(tcp|udp|sctp):\/\//;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds variables that look like settings and are none: a mistyped name would otherwise leave a limit or a protection at
 * its default, and nobody would notice.
 *
 * @param known the names of all settings
 * @returns one line for each, with the known name that is nearest; values are not shown
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
  if (value === '' || OF_OTHER_PROGRAMS.has(name) || OF_TESTS.test(name)) return false;
  if (OF_KUBERNETES.test(name)) return false;
  if (/^QM_(\w+_)?PORT$/.test(name) && OF_KUBERNETES_LINK.test(value)) return false;
  // Some shells keep the port under this name. It is harmless where PORT says the same.
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
