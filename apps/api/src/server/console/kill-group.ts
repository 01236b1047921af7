/** Ends a child process that was started with `detached`, and all that it started. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGTERM');
  } catch {
    // The process has just ended by itself.
  }
}
