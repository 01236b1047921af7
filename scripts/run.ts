import { spawn } from 'node:child_process';

export const ROOT = new URL('..', import.meta.url).pathname;

/** Runs a program in the repository's root, its output shown as it comes. @returns its exit code */
export function run(program: string, args: string[], environment: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...environment } });
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? (signal === null ? 0 : 1)));
  });
}
