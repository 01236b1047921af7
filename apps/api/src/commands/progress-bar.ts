import { SingleBar } from 'cli-progress';

export type ProgressBar = {
  /** What is at hand, and how far it is. Something else than before begins a bar, or a line, of its own. */
  update(what: string, done: number, of: number): void;
  stop(): void;
};

/** How often a line is written where there is no terminal to draw on, in milliseconds. */
const LINE_MS = 5000;

type Stream = NodeJS.WritableStream & { isTTY?: boolean };

/** Shows progress on a stream: as a bar on a terminal, as a line now and then elsewhere. */
export function progressBar(unit: string, stream: Stream): ProgressBar {
  return stream.isTTY ? drawn(unit, stream) : written(unit, stream);
}

function drawn(unit: string, stream: Stream): ProgressBar {
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

function written(unit: string, stream: Stream): ProgressBar {
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
