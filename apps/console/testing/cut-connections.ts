import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy before a database, which can take it away. */
export type Cut = {
  /** The URL of the database through the proxy. */
  url: string;
  /** Ends every connection, and refuses new ones. */
  cut: () => void;
  /** Lets connections through again. */
  restore: () => void;
  close: () => Promise<void>;
};

export async function startCut(databaseUrl: string): Promise<Cut> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((incoming) => {
    if (isCut) return void incoming.destroy();
    const outgoing = connect(Number(target.port || 5432), target.hostname);
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut,
    restore: () => {
      isCut = false;
    },
    close: () => {
      cut();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}
