import type { Load } from '../load/load.ts';
import type { Cores } from '../machine.ts';
import type { Finding } from '../report.ts';
import type { World } from '../world/world.ts';

/** What a workload works with. */
export type Bench = {
  world: World;
  cores: Cores;
  load: Load;
  rounds: number;
  seconds: number;
  /** Rows of the large tables. */
  rows: number;
  quick: boolean;
  /** The folder for CPU profiles of this API; null: no profiles. */
  profileFolder: string | null;
  /** Prints progress during long steps. */
  say: (text: string) => void;
};

export type Workload = (bench: Bench) => Promise<Finding>;
