/** Counts the turns of the event loop. @returns how many there were so far, and a function that stops counting */
export function countTurns(): { turns: () => number; stop: () => void } {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return {
    turns: () => turns,
    stop() {
      isOver = true;
    },
  };
}
