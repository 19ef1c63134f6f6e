/**
 * The listening sockets that are passed to proxies, by name: those of a systemd unit, or those
 * bound at the configured addresses. A reload keeps sockets whose address stays the same.
 */
import type { Config } from "../../../shared/config/config.js";
import type { InheritedSockets } from "../../../shared/supervision/inherited-sockets.js";
import type { BoundSocket } from "./bind-socket.js";

export interface HeldSocket extends BoundSocket {
  readonly name: string;
  /** The configured address; null if the systemd unit defines it. */
  readonly place: string | null;
}

/**
 * The sockets of a systemd unit, which stay open whatever the configuration says, and are never
 * closed here.
 */
export function heldFromUnit({ byName }: InheritedSockets): readonly HeldSocket[] {
  return [...byName].flatMap(([name, fds]) =>
    fds.map((fd) => ({ name, fd, place: null, close() {} })),
  );
}

/**
 * The sockets of a configuration: takes those that are held already, and binds the others. If an
 * address is in use, rejects and closes the sockets that it has bound.
 */
export async function holdSockets(
  { host, port, admin }: Pick<Config["server"], "host" | "port" | "admin">,
  heldSockets: readonly HeldSocket[],
  bind: (host: string, port: number) => Promise<BoundSocket>,
): Promise<readonly HeldSocket[]> {
  const addresses = [
    { name: "http", host, port },
    ...(admin === null ? [] : [{ ...admin, name: "admin" }]),
  ];
  const sockets = heldSockets.filter(({ place }) => place === null);
  const bound: BoundSocket[] = [];
  try {
    for (const { name, host, port } of addresses) {
      const place = `${host}:${port}`;
      if (sockets.some((socket) => socket.name === name)) continue;
      let socket = heldSockets.find(
        (candidate) => candidate.name === name && candidate.place === place,
      );
      if (socket === undefined) {
        const { fd, close } = await bind(host, port);
        socket = { name, place, fd, close };
        bound.push(socket);
      }
      sockets.push(socket);
    }
    return sockets;
  } catch (error) {
    for (const socket of bound) socket.close();
    throw error;
  }
}

/** Closes the sockets of `heldSockets` that aren't in `except`. */
export function closeSockets(
  heldSockets: readonly HeldSocket[],
  except: readonly HeldSocket[] = [],
): void {
  for (const socket of heldSockets) if (!except.includes(socket)) socket.close();
}
