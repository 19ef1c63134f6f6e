/**
 * Opens the proxy's port, and the separate one for /admin and the dashboard (`server.admin.port`),
 * or listens on inherited sockets. Each serves its half and answers 404 for the other.
 */
import type { Socket } from "node:net";
import { isLoopback } from "../shared/config/open-gateway.js";
import {
  type InheritedSockets,
  InheritedSocketsError,
} from "../shared/supervision/inherited-sockets.js";
import { ConnectionRoom } from "./capacity/connection-room.js";
import type { ProxyCapacity } from "./capacity/create-capacity.js";
import type { Gateway } from "./gateway.js";
import type { DrainTimes } from "./http/drain/drain-server.js";
import type { Exchange } from "./http/exchange.js";
import type { HttpListener, listenHttp } from "./http/http-listener.js";

/** The admin port accepts connections even when the other one is full. */
const adminConnectionsMax = 256;

/** The names of inherited sockets, and which half each serves. */
export const socketNames = ["http", "admin"] as const;
type SocketName = (typeof socketNames)[number];

export interface Listeners {
  readonly url: string;
  /** The address of /admin and the dashboard; equals `url` without a separate port. */
  readonly adminUrl: string;
  /** Sums over both listeners. */
  close(times: DrainTimes): Promise<void>;
}

interface ListenerPorts {
  readonly listen: typeof listenHttp;
  readonly sockets: InheritedSockets;
  /** Makes the handler of a listener's requests; `served` of the gateway is the listener's. */
  handlerOf(ofListener: Gateway): (exchange: Exchange) => void;
}

interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * Rejects when an address is in use, or with `InheritedSocketsError` when an inherited socket
 * doesn't match the configuration; then none stays open.
 */
export async function openListeners(
  gateway: Gateway,
  { connections, memory }: Pick<ProxyCapacity, "connections" | "memory">,
  { listen, sockets, handlerOf }: ListenerPorts,
): Promise<Listeners> {
  const { admin, ...server } = gateway.config.server;
  if (admin === null && sockets.byName.has("admin"))
    throw new InheritedSocketsError(
      "a socket named admin is given, but server.admin.port isn't set: set it, or take the socket away",
    );
  const open: HttpListener[] = [];
  const closeAll = async (times: DrainTimes): Promise<void> => {
    await Promise.all(open.map(({ close }) => close(times)));
  };
  const openAll = async (
    name: SocketName,
    place: Place,
    room: ConnectionRoom<Socket>,
    served: Gateway["served"],
  ): Promise<string> => {
    const capacity = { ...gateway.capacity, connections: room };
    const ofListener: Gateway = { ...gateway, capacity, served };
    const urls: string[] = [];
    for (const at of sockets.byName.get(name)?.map((fd) => ({ fd })) ?? [
      { host: place.host, port: place.port },
    ]) {
      const listener = await listen({
        listen: at,
        connections: room,
        memory,
        stalledClientMs: server.stalledClientMs,
        handle: handlerOf(ofListener),
      });
      open.push(listener);
      // In the same turn as the listen call, before it accepts a connection.
      if ("fd" in at) requireKnownReach(gateway, name, { place, listener });
      urls.push(listener.url);
    }
    return urls[0]!;
  };
  try {
    const url = await openAll("http", server, connections, admin === null ? "all" : "models");
    const adminUrl =
      admin === null
        ? url
        : await openAll("admin", admin, new ConnectionRoom<Socket>(adminConnectionsMax), "admin");
    return { url, adminUrl, close: closeAll };
  } catch (error) {
    await closeAll({ idleMs: 0, runningMs: 0 });
    throw error;
  }
}

/**
 * What an open gateway allows depends on the configured address; for an inherited socket the unit
 * file decides.
 */
function requireKnownReach(
  { credentials }: Gateway,
  name: SocketName,
  { place, listener: { host, url } }: { readonly place: Place; readonly listener: HttpListener },
): void {
  if (!credentials.open || host.startsWith("/") || isLoopback(host) || !isLoopback(place.host))
    return;
  const setting = name === "http" ? "server.host" : "server.admin.host";
  throw new InheritedSocketsError(
    `the given socket named ${name} listens on ${url}, beyond loopback, and the gateway is open: set ${setting} to that address, or a master key`,
  );
}
