import { relative, resolve } from 'node:path';
import type { Invocation } from '@quartermaster/api/src/commands/run-command.ts';
import { VERSION } from '@quartermaster/api/src/config.ts';
import { describeFailure } from '@quartermaster/api/src/server/failures.ts';
import { COMMANDS, helpText, type PackageCommand } from './commands.ts';
import { installation } from './installation.ts';

/** Runs a command. Each one is imported only if it runs. @returns the exit code; of a server, once it serves */
export async function runCommandOfPackage({ name, argv }: PackageCommand): Promise<number> {
  const { env: environment, stdout, stderr } = process;
  const invocation: Invocation = { argv, environment, stdout, stderr };
  switch (name) {
    case null:
      stderr.write(`quartermaster: there is no such command. \`npx quartermaster help\` lists all.\n`);
      return 2;
    case 'help':
      stdout.write(helpText(VERSION));
      return 0;
    case 'version':
      stdout.write(`${VERSION}\n`);
      return 0;
    case 'dev':
    case 'serve':
      return runServerOfPackage(name, invocation);
    case 'seed': {
      const { runSeed } = await import('@quartermaster/seed/run-seed.ts');
      return runSeed({ commandLine: installation.commandLine('seed'), argv });
    }
    case 'doctor': {
      const { runDoctor } = await import('@quartermaster/api/src/commands/doctor/run-doctor.ts');
      return runDoctor(invocation);
    }
    case 'backup': {
      const { runBackup } = await import('@quartermaster/api/src/commands/run-backup.ts');
      return runBackup(invocation);
    }
    case 'migrate': {
      const { runMigrateDatabase } = await import('@quartermaster/api/src/commands/run-migrate-database.ts');
      const interrupted = new AbortController();
      process.once('SIGINT', () => interrupted.abort());
      return runMigrateDatabase({ ...invocation, signal: interrupted.signal });
    }
    case 'admin-key': {
      const { runAdminKey } = await import('@quartermaster/api/src/commands/run-admin-key.ts');
      return runAdminKey(invocation);
    }
    case 'dev-token': {
      const { runDevToken } = await import('@quartermaster/dev-identity/run-dev-token.ts');
      return runDevToken({ ...invocation, commandLine: installation.commandLine('dev-token') });
    }
    case 'remove-development-users': {
      const program = await import('@quartermaster/api/src/commands/run-remove-development-users.ts');
      return program.runRemoveDevelopmentUsers(invocation);
    }
    case 'healthcheck': {
      const { runHealthcheck } = await import('@quartermaster/api/src/commands/run-healthcheck.ts');
      return runHealthcheck(invocation);
    }
  }
}

async function runServerOfPackage(name: 'dev' | 'serve', { argv, stdout, stderr }: Invocation): Promise<number> {
  const usage = `usage: npx quartermaster ${name}\n\n${COMMANDS[name]}. Environment variables configure it.\n`;
  if (argv.length > 0) {
    const isHelp = ['--help', '-h'].includes(argv[0] ?? '');
    (isHelp ? stdout : stderr).write(isHelp ? usage : `${name} takes no arguments: ${usage}`);
    return isHelp ? 0 : 2;
  }
  try {
    if (process.stdout.isTTY) stdout.write(welcome());
    const { runServer } = await import('@quartermaster/api/src/commands/run-server.ts');
    await runServer(name === 'dev' ? 'development' : 'production');
    return 0;
  } catch (error) {
    const { message, exitCode } = describeFailure(error);
    stderr.write(`${message}\n`);
    return exitCode;
  }
}

/** The first lines on a terminal. The server prints its addresses once it listens. */
function welcome(): string {
  const { QM_DATA_DIR: given, DATABASE_URL: database } = process.env;
  const folder = resolve(installation.root, given || installation.dataFolder);
  const where = database === undefined ? `./${relative(installation.root, folder)}` : 'the database of DATABASE_URL';
  return `Quartermaster ${VERSION} keeps its data in ${where}. Other commands: npx quartermaster help\n`;
}
