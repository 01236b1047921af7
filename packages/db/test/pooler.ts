import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The startup parameters that PgBouncer accepts by default. */
const TAKEN = ['user', 'database', 'client_encoding', 'datestyle', 'timezone', 'standard_conforming_strings'];

export type Pooler = {
  url: string;
  /** The startup parameters of refused connections. */
  refused: string[];
  close: () => void;
};

/**
 * A small connection pooler for tests that behaves like PgBouncer. It refuses unknown startup parameters. In session mode each
 * client has its own server connection. In transaction mode all clients share one, each for the length of a transaction.
 *
 * @param delayMs delays what clients send in session mode, in milliseconds, as a distance would
 */
export async function startPooler(
  databaseUrl: string,
  mode: 'session' | 'transaction',
  { delayMs = 0 } = {},
): Promise<Pooler> {
  const { hostname, port, pathname, username } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const refused: string[] = [];
  const toServer = () => {
    const socket = connect(Number(port), hostname);
    sockets.add(socket.on('error', () => socket.destroy()));
    return socket;
  };
  const startup = startupMessage({ user: username, database: pathname.slice(1) });
  const shared = mode === 'transaction' ? sharedConnection(toServer(), startup) : null;
  const server = createServer((client) => {
    sockets.add(client.on('error', () => client.destroy()));
    client.once('data', (first) => {
      const unknown = parametersOf(first).find((name) => !TAKEN.includes(name) && name !== 'application_name');
      if (unknown !== undefined) {
        refused.push(unknown);
        client.end(message('E', `SFATAL\0C08P01\0Munsupported startup parameter: ${unknown}\0\0`));
      } else if (shared === null) {
        const own = toServer();
        const send = (chunk: Buffer) => setTimeout(() => own.writable && own.write(chunk), delayMs);
        send(first);
        client.on('data', send).on('end', () => setTimeout(() => own.end(), delayMs));
        own.pipe(client);
      } else {
        client.write(Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I')]));
        client.on('data', shared(client));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { url: url.href, refused, close };
}

/** Shares one server connection. A client's turn ends when the server is idle outside of a transaction. */
function sharedConnection(server: Socket, startup: Buffer): (client: Socket) => (chunk: Buffer) => void {
  const waiting: { client: Socket; chunk: Buffer }[] = [];
  // No client has a turn until the server has answered the startup message.
  let holder: Socket | 'startup' | null = 'startup';
  const next = () => {
    const turn = waiting.findIndex(({ client }) => holder === null || client === holder);
    const [sent] = turn === -1 ? [] : waiting.splice(turn, 1);
    if (sent === undefined) return;
    holder = sent.client;
    server.write(sent.chunk);
    next();
  };
  server.write(startup);
  let rest = Buffer.alloc(0);
  server.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = rest.readInt32BE(1) + 1;
      const answer = rest.subarray(0, end);
      rest = rest.subarray(end);
      if (holder instanceof Object) holder.write(answer);
      if (String.fromCharCode(answer[0] ?? 0, answer[5] ?? 0) === 'ZI') holder = null;
    }
    next();
  });
  return (client) => (chunk) => {
    // X (terminate): the client disconnects, but the server connection stays open.
    if (chunk[0] === 'X'.charCodeAt(0)) return;
    waiting.push({ client, chunk });
    if (holder !== 'startup') next();
  };
}

function startupMessage(parameters: Record<string, string>): Buffer {
  const text = `${Object.entries(parameters).flat().join('\0')}\0\0`;
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + Buffer.byteLength(text), 0);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

function parametersOf(startup: Buffer): string[] {
  const texts = startup.subarray(8).toString().split('\0');
  return texts.filter((text, index) => index % 2 === 0 && text !== '');
}

function message(type: string, text: string): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}
