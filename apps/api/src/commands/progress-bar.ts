import { SingleBar } from 'cli-progress';

export type ProgressBar = {
  /** What is at hand, and how far it is. Something else than before begins a bar, or a line, of its own. */
  update(what: string, done: number, of: number): void;
  stop(): void;
};

/** How often a line is written where there is no terminal to draw on, in milliseconds. */
const LINE_MS = 5000;

/** Shows on standard error how far something is: as a bar on a terminal, as a line now and then elsewhere. */
export function progressBar(unit: string): ProgressBar {
  return process.stderr.isTTY ? drawn(unit) : written(unit);
}

function drawn(unit: string): ProgressBar {
  let what = '';
  let bar: SingleBar | undefined;
  return {
    update(name, done, of) {
      if (name !== what || bar === undefined) {
        bar?.stop();
        const format = `{what} [{bar}] {value}/{total} ${unit}, {eta_formatted} left`;
        bar = new SingleBar({ format, stream: process.stderr, hideCursor: true });
        bar.start(of, done, { what: name.padEnd(28) });
        what = name;
      } else bar.update(done);
    },
    stop: () => bar?.stop(),
  };
}

function written(unit: string): ProgressBar {
  let what = '';
  let last = 0;
  return {
    update(name, done, of) {
      const now = performance.now();
      if (name === what && done < of && now - last < LINE_MS) return;
      process.stderr.write(`${name}: ${done} of ${of} ${unit}\n`);
      [what, last] = [name, now];
    },
    stop: () => {},
  };
}
