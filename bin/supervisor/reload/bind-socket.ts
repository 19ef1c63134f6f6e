/**
 * A listening socket that outlives the processes that serve it: the supervisor holds it and never
 * accepts on it. While it is held, connections wait if no process accepts, and none is refused.
 */
import { lookup } from "node:dns/promises";
import net from "node:net";
import { getSystemErrorMap } from "node:util";

/**
 * The part of `net` that `cluster` uses to share sockets between workers: a socket that is only
 * bound.
 */
declare module "node:net" {
  /** A negative number is an error of the operating system. */
  export function _createServerHandle(
    address: string,
    port: number,
    addressType: 4 | 6,
  ): { readonly fd: number; getsockname(name: object): number; close(): void } | number;
}

export interface BoundSocket {
  /** Passed to processes, which listen on it. */
  readonly fd: number;
  close(): void;
}

/**
 * Binds an address. Rejects if the address is taken or isn't this host's. Neither of Node's own
 * ways fits: a `net.Server` accepts connections itself, and `cluster` closes a socket when its last
 * worker ends.
 */
export async function bindSocket(host: string, port: number): Promise<BoundSocket> {
  const { address, family } = await lookup(host);
  const bound = net._createServerHandle(address, port, family === 6 ? 6 : 4);
  // If the address is taken, only the next call reports it.
  const errno = typeof bound === "number" ? bound : bound.getsockname({});
  if (typeof bound === "number" || errno !== 0) {
    if (typeof bound !== "number") bound.close();
    throw bindError(errno, address, port);
  }
  return { fd: bound.fd, close: () => bound.close() };
}

/** The error with which `listen` would fail. */
function bindError(errno: number, address: string, port: number): Error {
  const [code, message] = getSystemErrorMap().get(errno) ?? [`error ${-errno}`, "unknown"];
  const text = `listen ${code}: ${message} ${address}:${port}`;
  return Object.assign(new Error(text), { errno, code, syscall: "listen", address, port });
}
