import { Writable } from 'node:stream';
import type { Invocation } from '../../src/commands/run-command.ts';

export type CommandResult = { code: number; stdout: string; stderr: string };

/**
 * Runs a command in this process, with the given arguments and environment alone, and collects its output.
 *
 * @param onStderr called with each piece of text when the command writes it, before the command goes on
 */
export async function runInProcess(
  command: (invocation: Invocation) => Promise<number>,
  argv: readonly string[],
  environment: Record<string, string> = {},
  onStderr?: (text: string) => void,
): Promise<CommandResult> {
  const [stdout, stderr] = [collector(), collector(onStderr)];
  const code = await command({ argv, environment, stdout: stdout.stream, stderr: stderr.stream });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collector(onText?: (text: string) => void): { stream: Writable; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      onText?.(chunk.toString());
      done();
    },
  });
  return { stream, text: () => text };
}
