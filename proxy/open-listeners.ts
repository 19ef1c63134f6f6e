/**
 * Opens the proxy's port, and the one for /admin and the dashboard where that is another one
 * (`server.admin.port`). Each serves its half and answers 404 for the other.
 */
import type { Socket } from "node:net";
import { ConnectionRoom } from "./capacity/connection-room.js";
import type { ProxyCapacity } from "./capacity/create-capacity.js";
import type { Gateway } from "./gateway.js";
import type { Exchange } from "./http/exchange.js";
import type { HttpListener, listenHttp } from "./http/http-listener.js";

/** Operators reach their port however crowded the other one is. */
const adminConnectionsMax = 256;

interface Listeners {
  readonly url: string;
  /** Where /admin and the dashboard are: the same, unless they have a port of their own. */
  readonly adminUrl: string;
  close(graceMs: number): Promise<void>;
}

interface ListenerPorts {
  readonly listen: typeof listenHttp;
  /** Handles one request, by the gateway as its listener shows it. */
  handle(ofListener: Gateway, exchange: Exchange): void;
}

/** Rejects when an address is taken; then neither is open. */
export async function openListeners(
  gateway: Gateway,
  { connections, memory }: Pick<ProxyCapacity, "connections" | "memory">,
  { listen, handle }: ListenerPorts,
): Promise<Listeners> {
  const { admin, ...server } = gateway.config.server;
  const { stalledClientMs } = server;
  const open = (
    { host, port }: { readonly host: string; readonly port: number },
    room: ConnectionRoom<Socket>,
    served: Gateway["served"],
  ): Promise<HttpListener> => {
    const capacity = { ...gateway.capacity, connections: room };
    const ofListener: Gateway = { ...gateway, capacity, served };
    return listen({
      listen: { host, port },
      connections: room,
      memory,
      stalledClientMs,
      handle: (exchange) => handle(ofListener, exchange),
    });
  };
  if (admin === null) {
    const { url, close } = await open(server, connections, "all");
    return { url, adminUrl: url, close };
  }
  const models = await open(server, connections, "models");
  const adminListener = await open(
    admin,
    new ConnectionRoom<Socket>(adminConnectionsMax),
    "admin",
  ).catch(async (error: unknown) => {
    await models.close(0);
    throw error;
  });
  return {
    url: models.url,
    adminUrl: adminListener.url,
    async close(graceMs) {
      await Promise.all([models.close(graceMs), adminListener.close(graceMs)]);
    },
  };
}
