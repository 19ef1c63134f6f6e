/**
 * A listening socket that outlives the processes that serve it: this one holds it and never accepts
 * on it. As long as it is held, connections wait while no process accepts, and none is refused.
 */
import { lookup } from "node:dns/promises";
import net from "node:net";
import { getSystemErrorMap } from "node:util";

/** What `net` has for `cluster`, whose workers share sockets so: a socket that is only bound. */
declare module "node:net" {
  /** A negative number is an error of the operating system. */
  export function _createServerHandle(
    address: string,
    port: number,
    addressType: 4 | 6,
  ): { readonly fd: number; getsockname(name: object): number; close(): void } | number;
}

export interface BoundSocket {
  /** To be handed to processes, which listen on it. */
  readonly fd: number;
  close(): void;
}

/**
 * Binds an address. A server of our own would accept, and so swallow connections that no process
 * serves; `cluster` gives a socket back as soon as its last worker has ended. Rejects when the
 * address is taken, or none of this host.
 */
export async function bindSocket(host: string, port: number): Promise<BoundSocket> {
  const { address, family } = await lookup(host);
  const bound = net._createServerHandle(address, port, family === 6 ? 6 : 4);
  // An address that is taken is reported by the first call after this one.
  const failed = typeof bound === "number" ? bound : bound.getsockname({});
  if (typeof bound === "number" || failed !== 0) {
    if (typeof bound !== "number") bound.close();
    throw bindError(failed, address, port);
  }
  return { fd: bound.fd, close: () => bound.close() };
}

/** As `listen` would fail. */
function bindError(errno: number, address: string, port: number): Error {
  const [code, message] = getSystemErrorMap().get(errno) ?? [`error ${-errno}`, "unknown"];
  const text = `listen ${code}: ${message} ${address}:${port}`;
  return Object.assign(new Error(text), { errno, code, syscall: "listen", address, port });
}
