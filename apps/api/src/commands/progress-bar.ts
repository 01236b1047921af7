import { SingleBar } from 'cli-progress';

export type ProgressBar = {
  /** Shows the progress of `what`. A new `what` starts a new bar or line. */
  update(what: string, done: number, of: number): void;
  stop(): void;
};

/** How often a line is written to an output that is not a terminal, in milliseconds. */
const LINE_MS = 5000;

type Stream = NodeJS.WritableStream & { isTTY?: boolean };

/** Shows progress on a stream: as a bar on a terminal, else as a line every few seconds. */
export function progressBar(unit: string, stream: Stream): ProgressBar {
  return stream.isTTY ? terminalBar(unit, stream) : progressLines(unit, stream);
}

function terminalBar(unit: string, stream: Stream): ProgressBar {
  let what = '';
  let bar: SingleBar | undefined;
  return {
    update(name, done, of) {
      if (name !== what || bar === undefined) {
        bar?.stop();
        const format = `{what} [{bar}] {value}/{total} ${unit}, {eta_formatted} left`;
        bar = new SingleBar({ format, stream, hideCursor: true });
        bar.start(of, done, { what: name.padEnd(28) });
        what = name;
      } else bar.update(done);
    },
    stop: () => bar?.stop(),
  };
}

function progressLines(unit: string, stream: Stream): ProgressBar {
  let what = '';
  let last = 0;
  return {
    update(name, done, of) {
      const now = performance.now();
      if (name === what && done < of && now - last < LINE_MS) return;
      stream.write(`${name}: ${done} of ${of} ${unit}\n`);
      [what, last] = [name, now];
    },
    stop: () => {},
  };
}
