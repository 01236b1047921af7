/** A server that runs in a process of its own, on a core of its own. */
export type MeasuredServer = {
  name: 'bare' | 'fastify' | 'quartermaster';
  pid: number;
  port: number;
  stop: () => Promise<void>;
};
