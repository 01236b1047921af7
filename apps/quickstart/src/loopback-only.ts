/**
 * Loaded into the MCP server's process before the server itself. The server would listen on every interface, although it has
 * tools that read the environment and fetch URLs. This module makes it listen only on loopback, sends the port to the parent
 * process, and exits when the parent ends for any reason.
 */
import { type AddressInfo, Server } from 'node:net';

const listen = Server.prototype.listen as (this: Server, ...args: unknown[]) => Server;

Server.prototype.listen = function listenOnLoopback(this: Server, ...args: unknown[]): Server {
  const listener = args.find((argument) => typeof argument === 'function');
  this.once('listening', () => process.send?.((this.address() as AddressInfo).port));
  return listen.call(this, 0, '127.0.0.1', listener);
};

process.once('disconnect', () => process.exit());
