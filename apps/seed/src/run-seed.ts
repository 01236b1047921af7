import { parseArgs } from 'node:util';
import { obtainToken, SignInError } from '@quartermaster/dev-identity/sign-in.ts';
import type { Credential } from './calls.ts';
import { MAIN_TENANT } from './company.ts';
import { Failure } from './failure.ts';
import { removeSeed } from './remove.ts';
import { seed } from './seed.ts';
import { noServer } from './server.ts';

const usageOf = (commandLine: string) => `Usage: ${commandLine} [--seed <n>] [--scale <n>] [--remove]

Fills the server at QM_URL (default: http://127.0.0.1:8080, or the PORT of the environment) with the data of an invented company.
  --seed <n>    seed of the random choices; default: 1
  --scale <n>   multiplies traces and observations; default: 1, at most 50
  --remove      removes what an earlier run made. The ids of its tenants cannot be used again, so that the server cannot be filled again
QM_API_KEY is a platform administrator's key. Without it, the seed signs in at the development identity provider.
`;

const ADMINISTRATOR = 'admin@example.com';
const MAX_SCALE = 50;

/** How the command is called, and its arguments. */
type Invocation = { commandLine: string; argv: readonly string[] };

/** Fills a server, or removes what an earlier run made. @returns the exit code */
export async function runSeed(invocation: Invocation): Promise<number> {
  try {
    await run(invocation);
    return 0;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    process.stderr.write(`seed: ${error.message}\n`);
    return error.exitCode;
  }
}

async function run({ commandLine, argv }: Invocation): Promise<void> {
  const options = readOptions(argv);
  if (options === 'help') {
    process.stdout.write(usageOf(commandLine));
    return;
  }
  const url = readUrl();
  const { remove, ...choices } = options;
  const credential = await readCredential(url);
  if (remove) {
    const isRemoved = (await removeSeed({ url, credential })) === 'removed';
    process.stdout.write(
      isRemoved
        ? `Removed the data of the seed from ${url}. To load it again, start a server with an empty database.\n`
        : `There is no data of the seed at ${url}.\n`,
    );
    return;
  }
  const startedAt = performance.now();
  const { outcome, counts, notes } = await seed({ url, credential, ...choices });
  if (outcome === 'present') {
    process.stdout.write(`The data of the seed is at ${url} already. Nothing was changed.\n`);
    return;
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const lines = [
    `Filled ${url} in ${seconds} s:`,
    '',
    ...countLines(counts),
    '',
    ...notes.flatMap((note) => [note, '']),
    ...suggestions(url),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

type Choices = { seed: number; scale: number; remove: boolean };

function readOptions(argv: readonly string[]): Choices | 'help' {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        seed: { type: 'string', default: '1' },
        scale: { type: 'string', default: '1' },
        remove: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return 'help';
    return {
      seed: readInteger('seed', values.seed, 2 ** 31),
      scale: readInteger('scale', values.scale, MAX_SCALE),
      remove: values.remove,
    };
  } catch (error) {
    if (error instanceof Failure || !(error instanceof TypeError)) throw error;
    throw new Failure(error.message, { exitCode: 2 });
  }
}

function readInteger(name: string, text: string, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw new Failure(`--${name} takes an integer of 1 to ${max}, not ${text}.`, { exitCode: 2 });
}

function readUrl(): string {
  const given = process.env['QM_URL'] || `http://127.0.0.1:${process.env['PORT'] || '8080'}`;
  const parsed = URL.parse(given);
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return given.replace(/\/+$/, '');
  throw new Failure(`QM_URL is not an http or https URL: ${given}`, { exitCode: 2 });
}

async function readCredential(url: string): Promise<Credential> {
  const key = process.env['QM_API_KEY'];
  if (key) return { key };
  try {
    const { accessToken } = await obtainToken({ issuer: `${url}/oidc`, email: ADMINISTRATOR });
    return { token: accessToken };
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    if (error.code === 'unreachable') throw noServer(url, error);
    const help = "Set QM_API_KEY to a platform administrator's key.";
    const what = error.code === 'no_provider' ? 'it runs without the development identity provider' : error.message;
    throw new Failure(`Cannot sign in at ${url}: ${what}. ${help}`, { exitCode: 2, cause: error });
  }
}

function countLines(counts: Record<string, number>): string[] {
  const of = (noun: string, label = noun) => `${(counts[noun] ?? 0).toLocaleString('en')} ${label}`;
  return [
    [of('tenants'), of('subTenants', 'sub-tenants'), of('memberships'), of('accounts', 'service accounts')],
    [of('providers'), of('items', 'inventory items'), of('manifests'), of('gateways'), of('sessions')],
    [of('traces'), of('spans'), of('observations', 'runtime observations')],
    [of('recommendations'), of('tasks', 'operator tasks'), of('credentials')],
  ].map((line) => `  ${line.join(', ')}`);
}

function suggestions(url: string): string[] {
  return [
    'To look at it, open the web console. If it asks who you are, use the link that the server printed when it started:',
    '',
    `  ${url}/console/inbox?tenant=${MAIN_TENANT}`,
  ];
}
