import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

type Options = { cwd?: string; environment?: Record<string, string> };

/** Runs a program, by default in the repository's root, with inherited output. @returns its exit code */
export function run(program: string, args: string[], { cwd = ROOT, environment = {} }: Options = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: 'inherit', env: { ...process.env, ...environment } });
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? (signal === null ? 0 : 1)));
  });
}
