import { useComputedColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import type { Tree } from './span-tree.ts';
import classes from './trace.module.css';

const HEIGHT = 44;

type Props = {
  tree: Tree;
  visible: readonly number[];
  /** The first and last row in view. */
  range: readonly [number, number] | null;
  goTo: (index: number) => void;
};

/** The whole trace at a glance, on a canvas: ten thousand elements would be slow. A click scrolls there. */
export function Minimap(props: Props): ReactNode {
  // A canvas does not follow the colour scheme by itself.
  return <MinimapCanvas key={useComputedColorScheme()} {...props} />;
}

function MinimapCanvas({ tree, visible, range, goTo }: Props): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [first, last] = range ?? [0, 0];
  const step = HEIGHT / Math.max(1, visible.length);
  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, { tree, visible });
  }, [tree, visible]);
  return (
    <div
      className={classes.minimap}
      aria-hidden="true"
      onClick={({ clientY, currentTarget }) => {
        const { top, height } = currentTarget.getBoundingClientRect();
        goTo(Math.floor(((clientY - top) / height) * visible.length));
      }}
    >
      {/* Below the bars, and not in the picture: otherwise each scroll step would draw ten thousand bars. */}
      <div className={classes.range} style={{ top: first * step, height: Math.max(3, (last - first + 1) * step) }} />
      <canvas ref={canvas} />
    </div>
  );
}

type Drawn = { tree: Tree; visible: readonly number[] };

function draw(canvas: HTMLCanvasElement, { tree: { rows, duration }, visible }: Drawn): void {
  const context = canvas.getContext('2d');
  const width = canvas.clientWidth;
  if (context === null || width === 0) return;
  const ratio = window.devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = HEIGHT * ratio;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name);
  const step = HEIGHT / Math.max(1, visible.length);
  const scale = width / Math.max(duration, 0.001);
  const [usual, failed] = [colour('--qm-accent'), colour('--qm-danger')];
  visible.forEach((index, position) => {
    const row = rows[index];
    if (row === undefined) return;
    context.fillStyle = row.isError ? failed : usual;
    context.fillRect(
      row.start * scale,
      position * step,
      Math.max(1, (row.end - row.start) * scale),
      Math.max(1, step - 0.5),
    );
  });
}
