/** A server in a separate process, on a separate core. */
export type MeasuredServer = {
  name: 'bare' | 'fastify' | 'quartermaster';
  pid: number;
  port: number;
  stop: () => Promise<void>;
};
