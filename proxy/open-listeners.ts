/**
 * Opens the proxy's port, the separate one for /admin and the dashboard (`server.admin.port`) and
 * that for metrics (`metrics.port`), or listens on inherited sockets. Each answers 404 for what
 * another one serves.
 */
import type { Socket } from "node:net";
import { isLoopback } from "../shared/config/open-gateway.js";
import type { TlsConfig } from "../shared/config/resolve/tls.js";
import {
  type InheritedSockets,
  InheritedSocketsError,
} from "../shared/supervision/inherited-sockets.js";
import { certificatePaths } from "./auth/client-certificate.js";
import { ConnectionRoom } from "./capacity/connection-room.js";
import type { ProxyCapacity } from "./capacity/create-capacity.js";
import type { Gateway } from "./gateway.js";
import type { DrainTimes } from "./http/drain/drain-server.js";
import type { Exchange } from "./http/exchange.js";
import type { HttpListener, ListenerTls, listenHttp } from "./http/http-listener.js";
import type { TlsFiles } from "./http/tls-files.js";

/**
 * Connections of the ports for administration and metrics, which accept them even if the first port
 * is full.
 */
const adminConnectionsMax = 256;
const metricsConnectionsMax = 64;

/** The names of inherited sockets. */
export const socketNames = ["http", "admin", "metrics"] as const;
type SocketName = (typeof socketNames)[number];

const hostSettings: Readonly<Record<SocketName, string>> = {
  http: "server.host",
  admin: "server.admin.host",
  metrics: "metrics.host",
};

export interface Listeners {
  readonly url: string;
  /** The address of /admin and the dashboard; equals `url` without a separate port. */
  readonly adminUrl: string;
  /** The address of `metrics.port`; null without it. */
  readonly metricsUrl: string | null;
  /** Closes all listeners. */
  close(times: DrainTimes): Promise<void>;
}

interface ListenerPorts {
  readonly listen: typeof listenHttp;
  readonly sockets: InheritedSockets;
  /** The files of `server.tls`; null without it. */
  readonly tlsFiles: TlsFiles | null;
  /**
   * Makes the handler of a listener's requests. `ofListener.served`: the endpoints of that
   * listener.
   */
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
  { listen, sockets, tlsFiles, handlerOf }: ListenerPorts,
): Promise<Listeners> {
  const { admin, ...server } = gateway.config.server;
  const metrics = gateway.config.metrics.listen;
  for (const [name, place, setting] of [
    ["admin", admin, "server.admin.port"],
    ["metrics", metrics, "metrics.port"],
  ] as const)
    if (place === null && sockets.byName.has(name))
      throw new InheritedSocketsError(
        `a socket named ${name} is given, but ${setting} isn't set: set it, or take the socket away`,
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
    // Probes and Prometheus reach the port of metrics without certificates.
    const tls = served === "metrics" ? null : tlsOf(gateway.config.server.tls, tlsFiles);
    const capacity = { ...gateway.capacity, connections: room };
    const listenerGateway: Gateway = { ...gateway, capacity, served };
    const urls: string[] = [];
    for (const address of sockets.byName.get(name)?.map((fd) => ({ fd })) ?? [
      { host: place.host, port: place.port },
    ]) {
      const listener = await listen({
        listen: address,
        connections: room,
        memory,
        stalledClientMs: server.stalledClientMs,
        tls,
        handle: handlerOf(listenerGateway),
      });
      open.push(listener);
      // In the same turn as the listen call, before it accepts a connection.
      if ("fd" in address) requireKnownReach(gateway, name, { place, listener });
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
    const metricsRoom = new ConnectionRoom<Socket>(metricsConnectionsMax);
    const metricsUrl =
      metrics === null ? null : await openAll("metrics", metrics, metricsRoom, "metrics");
    return { url, adminUrl, metricsUrl, close: closeAll };
  } catch (error) {
    await closeAll({ idleMs: 0, runningMs: 0 });
    throw error;
  }
}

function tlsOf(config: TlsConfig | null, files: TlsFiles | null): ListenerTls | null {
  if (config === null || files === null) return null;
  const { clientCaFile, clients } = config;
  return {
    files,
    needsCertificate: clientCaFile !== null,
    pathOf: clients === null ? () => null : certificatePaths(clients),
  };
}

/**
 * An open gateway serves more on loopback. For an inherited socket the address is known only by the
 * configuration: refuses one that doesn't name it.
 */
function requireKnownReach(
  { credentials }: Gateway,
  name: SocketName,
  { place, listener: { host, url } }: { readonly place: Place; readonly listener: HttpListener },
): void {
  if (!credentials.open || host.startsWith("/") || isLoopback(host) || !isLoopback(place.host))
    return;
  throw new InheritedSocketsError(
    `the given socket named ${name} listens on ${url}, beyond loopback, and the gateway is open: set ${hostSettings[name]} to that address, or a master key`,
  );
}
