/**
 * Opens the daemon's two sockets and connects them to the handlers. Not here: what a frame does
 * (`handlers/`).
 */
import { frameBytesMaxToDaemon } from "../shared/bounds.js";
import type { Config } from "../shared/config/config.js";
import type { Listener, listen } from "../shared/socket/ipc.js";
import type { Peer } from "../shared/socket/socket-peer.js";
import {
  type InheritedSockets,
  InheritedSocketsError,
} from "../shared/supervision/inherited-sockets.js";
import { createFrameReader, encodeFrame } from "../shared/wire/codec.js";
import { type FromDaemon, writeFromDaemon } from "../shared/wire/message-from-daemon.js";
import { type Connection, connect, receive } from "./handlers/connection.js";
import { freeSlotsOfLostPeer } from "./handlers/free-slots-of-lost-peer.js";
import type { DaemonState } from "./state.js";
import { StoreUnreadableError } from "./store/store.js";

/** The names of sockets that a supervisor may pass on; the one for requests first. */
export const daemonSockets = ["requests", "admin"] as const;

interface SocketPorts {
  readonly listen: typeof listen;
  /** Sockets that are already listening; missing ones are opened. */
  readonly inherited: InheritedSockets;
  readonly nowMs: () => number;
  /** Called when the store can't be read: the daemon must exit immediately. */
  readonly onUnreadable: (error: Error) => void;
}

/** Rejects as `listen`; neither socket is open then. */
export async function openSockets(
  state: DaemonState,
  { socket, adminSocket, socketGroupAccess }: Config["limiter"],
  { listen, inherited, nowMs, onUnreadable }: SocketPorts,
): Promise<Listener> {
  const connections = new Map<Peer, Connection>();
  const onSocket = (name: (typeof daemonSockets)[number], mayAdminister: boolean) => ({
    fd: onlyOne(inherited, name),
    allowsGroup: socketGroupAccess,
    isOwnerOnly: mayAdminister,
    onConnect(peer: Peer) {
      const ports = {
        mayAdminister,
        send: (message: FromDaemon) => peer.send(encodeFrame(writeFromDaemon(message))),
        sendBulk: (message: FromDaemon, then: (nowMs: number) => void) =>
          peer.sendBulk(encodeFrame(writeFromDaemon(message)), () => then(nowMs())),
        close: () => peer.close(),
      };
      connections.set(peer, {
        peer: connect(state, ports, nowMs()),
        reader: createFrameReader(frameBytesMaxToDaemon),
      });
    },
    onBytes(peer: Peer, bytes: Buffer) {
      const connection = connections.get(peer);
      if (connection === undefined) return;
      try {
        receive(state, connection, bytes, nowMs());
      } catch (error) {
        if (!(error instanceof StoreUnreadableError)) throw error;
        onUnreadable(error);
      }
    },
    onClose(peer: Peer) {
      const connection = connections.get(peer);
      connections.delete(peer);
      if (connection !== undefined) freeSlotsOfLostPeer(state, connection.peer, nowMs());
    },
  });
  // Opened first, so that a proxy that finds the other socket finds this one too.
  const forAdmin = await listen({ path: adminSocket, ...onSocket("admin", true) });
  const forRequests = await listen({ path: socket, ...onSocket("requests", false) }).catch(
    async (error: unknown) => {
      await forAdmin.close();
      throw error;
    },
  );
  return {
    async close() {
      await Promise.all([forRequests.close(), forAdmin.close()]);
    },
  };
}

/** Undefined if no socket was passed on. */
function onlyOne({ byName }: InheritedSockets, name: string): number | undefined {
  const [first, ...others] = byName.get(name) ?? [];
  if (others.length > 0)
    throw new InheritedSocketsError(
      `the daemon listens on one socket named ${name}, not on ${others.length + 1}: keep one ListenStream= in its unit`,
    );
  return first;
}
