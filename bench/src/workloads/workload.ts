import type { Load } from '../load/load.ts';
import type { Cores } from '../machine.ts';
import type { Finding } from '../report.ts';
import type { World } from '../world/world.ts';

/** What a workload has at hand. */
export type Bench = {
  world: World;
  cores: Cores;
  load: Load;
  rounds: number;
  seconds: number;
  /** Rows of the large tables. */
  rows: number;
  quick: boolean;
  /** Where CPU profiles of this API go; null: none are made. */
  profileFolder: string | null;
  /** Says what takes long. */
  say: (text: string) => void;
};

export type Workload = (bench: Bench) => Promise<Finding>;
