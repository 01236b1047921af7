import { ConfigError, readOwnUrl } from '../../config.ts';
import { installation } from '../../installation.ts';
import { describeFailure } from '../../server/failures.ts';
import { checkInstallation } from './installation-findings.ts';
import type { Finding } from './finding.ts';
import { checkServer } from './server-findings.ts';
import { argumentError, readArguments } from '../read-arguments.ts';
import type { Invocation } from '../run-command.ts';

const usage = `${installation.commandLine('doctor')} [--url <url>] [--json]

Says what is wrong, and what to do about it, in one line for each check. Without --url (or QM_URL) it checks the settings, the
database and the secret key of this machine, and the server at HOST and PORT. With it, only the server there. QM_API_KEY is a key to
check; the variables OTEL_EXPORTER_OTLP_... of this shell are checked, too. It changes nothing and prints no secret.`;

const MARKS = { ok: 'ok', warning: 'warning', failed: 'FAILED', skipped: '-' } satisfies Record<
  Finding['status'],
  string
>;

/** Checks an installation and a server. @returns the exit code: 1 if a check failed, 2 for wrong arguments */
export async function runDoctor({ argv, environment, stdout, stderr }: Invocation): Promise<number> {
  try {
    const options = { url: { type: 'string' }, json: { type: 'boolean' } } as const;
    const given = readArguments(usage, options, argv);
    if (given === 'help') {
      stdout.write(`usage: ${usage}\n`);
      return 0;
    }
    const findings = await examine(given.url || environment['QM_URL'] || null, environment);
    const hasFailed = findings.some(({ status }) => status === 'failed');
    stdout.write(given.json === true ? `${JSON.stringify({ ok: !hasFailed, findings }, null, 2)}\n` : textOf(findings));
    return hasFailed ? 1 : 0;
  } catch (error) {
    const { message, exitCode } = describeFailure(error);
    stderr.write(`${message}\n`);
    return exitCode;
  }
}

async function examine(url: string | null, environment: Invocation['environment']): Promise<Finding[]> {
  if (url !== null) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw argumentError(usage, '--url is not an http or https URL');
    return checkServer(url.replace(/\/+$/, ''), environment);
  }
  const own = await checkInstallation(environment);
  return [...own, ...(await checkServer(ownUrlOf(environment), environment))];
}

/** A wrong HOST or PORT is among the findings already. */
function ownUrlOf(environment: Invocation['environment']): string {
  try {
    return readOwnUrl(environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return readOwnUrl({});
  }
}

function textOf(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, status, found, fix }) => {
    const what = fix === null ? found : `${found}. To do: ${fix}`;
    return `${MARKS[status].padEnd(7)}  ${check.padEnd(width)}  ${what}`;
  });
  return `${lines.join('\n')}\n`;
}
