#!/usr/bin/env node
// The program of the npm package. It imports nothing of the service before it has checked the version of Node.
import module from 'node:module';
import { join } from 'node:path';
import { readCommand } from './commands.ts';
import { ENVIRONMENT, FLAGS } from './node-settings.ts';

const command = readCommand(process.argv.slice(2));
if (!isNodeNewEnough()) {
  process.stderr.write(`Quartermaster needs Node 24, or Node 22.20 or newer. This is ${process.version}.\n`);
  process.exitCode = 2;
} else {
  if (command.isServer) replaceProcess();
  // In the `node_modules` that contains the package. Node does without a cache if that folder is read-only.
  module.enableCompileCache(join(import.meta.dirname, '../../.cache/quartermaster'));
  const { runCommandOfPackage } = await import('./run-command-of-package.ts');
  process.exitCode = await runCommandOfPackage(command);
}

/** Older ones do not measure the CPU time of a worker thread, which limits what reading one request may cost. */
function isNodeNewEnough(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 6) || (major === 22 && minor >= 20);
}

/**
 * Starts Node again, in the same process, with the settings that it reads only at its own start. Windows has no exec; the server
 * then runs with the defaults of Node.
 */
function replaceProcess(): void {
  if (process.platform === 'win32' || process.execve === undefined || process.execArgv.includes(FLAGS[0])) return;
  const environment = { ...ENVIRONMENT, ...process.env };
  process.removeAllListeners('warning');
  const args = [process.execPath, ...FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args, environment);
}
