/**
 * Loaded into the MCP server's process before the server itself. That one listens on every interface, and has tools that
 * read the environment and fetch addresses: here it is for this machine alone. Its parent is told the port, and when the
 * parent is gone, however it went, so is this process.
 */
import { type AddressInfo, Server } from 'node:net';

const listen = Server.prototype.listen as (this: Server, ...args: unknown[]) => Server;

Server.prototype.listen = function listenOnLoopback(this: Server, ...args: unknown[]): Server {
  const listener = args.find((argument) => typeof argument === 'function');
  this.once('listening', () => process.send?.((this.address() as AddressInfo).port));
  return listen.call(this, 0, '127.0.0.1', listener);
};

process.once('disconnect', () => process.exit());
