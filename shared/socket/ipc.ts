/**
 * The Unix socket between proxies and the daemon, both ends; the only file that imports node-ipc.
 * It carries bytes; the codec makes frames. Who may listen at a path is in `claim-socket.ts`, how a
 * connection writes and ends in `socket-peer.ts`.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, statSync } from "node:fs";
import type net from "node:net";
import { IPCModule } from "node-ipc";
import { peersMax, reconnectMs } from "../bounds.js";
import {
  chooseSocket,
  claimSocket,
  isStillOurs,
  requireTrustedPlace,
  SocketTakenError,
} from "./claim-socket.js";
import { requireInheritedListener } from "./inherited-listener.js";
import { type Peer, SocketPeer } from "./socket-peer.js";

interface PeerHandlers {
  onBytes(peer: Peer, bytes: Buffer): void;
  /** Called exactly once for each peer that connected. */
  onClose(peer: Peer): void;
}

export interface ListenOptions extends PeerHandlers {
  readonly path: string;
  /**
   * Whether the group may enter the directory and connect: the modes are 0750 and 0660 instead of
   * 0700 and 0600.
   */
  readonly allowsGroup: boolean;
  /** Whether the socket is always 0600. */
  readonly isOwnerOnly?: boolean;
  /** The descriptor of a socket that already listens at the path, such as systemd's. */
  readonly fd?: number | undefined;
  onConnect(peer: Peer): void;
}

export interface Listener {
  /**
   * Stops listening, and removes the socket if this process has created it and still owns it. Each
   * peer reads what was sent to it before it is closed; resolves once all are closed.
   */
  close(): Promise<void>;
}

/**
 * Listens at `path` and replaces a stale socket. Rejects with `SocketTakenError` if a live daemon
 * answers there, with `SocketUntrustedError` if other users could replace the socket, and with
 * `InheritedSocketsError` if `fd` isn't the socket that it would create.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const ipc = newIpc();
  const peers = new Set<SocketPeer>();
  if (options.fd === undefined)
    await claimSocket(options.path, options.allowsGroup ? 0o750 : 0o700);
  else requireInheritedListener(options.path, options.fd, socketModeOf(options));
  ipc.serve(options.path, () => {});
  const server = ipc.server;
  server.on("connect", (socket: net.Socket) => {
    const peer = new SocketPeer(socket);
    peers.add(peer);
    takeBytes(socket, (bytes) => {
      if (!peer.closed) options.onBytes(peer, bytes);
    });
    // node-ipc's own event names any ended socket, not always the one that just ended.
    socket.once("close", () => {
      peers.delete(peer);
      peer.closed = true;
      options.onClose(peer);
    });
    options.onConnect(peer);
  });
  // node-ipc passes its port to Node's `listen`, which also accepts a descriptor.
  if (options.fd !== undefined) server.port = { fd: options.fd };
  await startServer(server, options);
  const inode = statSync(options.path).ino;
  return {
    async close() {
      // Closing removes whatever is at the path: if that is another daemon's socket, the server
      // stays open until the process ends.
      if (options.fd !== undefined || isStillOurs(options.path, inode)) server.server.close();
      else server.server.unref();
      await Promise.all([...peers].map((peer) => peer.end()));
    },
  };
}

/**
 * Reads a connection in place of node-ipc, whose listener copies each chunk and passes it through
 * three events. What node-ipc dials arrives as text.
 */
function takeBytes(socket: net.Socket, onBytes: (bytes: Buffer) => void): void {
  socket.removeAllListeners("data");
  socket.on("data", (data: Buffer | string) =>
    onBytes(typeof data === "string" ? Buffer.from(data, encoding) : data),
  );
}

/** Keeps data as bytes: node-ipc would have Node decode them. */
function keepBytes(socket: net.Socket): void {
  socket.setEncoding = () => socket;
}

function socketModeOf({ allowsGroup, isOwnerOnly }: ListenOptions): number {
  return allowsGroup && isOwnerOnly !== true ? 0o660 : 0o600;
}

function startServer(server: IPCModule["server"], options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const socketMode = socketModeOf(options);
    server.on("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new SocketTakenError(`another daemon listens on ${options.path}`)
          : error,
      ),
    );
    server.on("start", () => {
      if (options.fd === undefined) chmodSync(options.path, socketMode);
      resolve();
    });
    // The socket is created while `start` runs: the umask excludes other users from the first
    // moment.
    const mask = process.umask(0o777 & ~socketMode);
    try {
      server.start();
      server.server.prependListener("connection", keepBytes);
    } finally {
      process.umask(mask);
    }
  });
}

export interface DialOptions extends PeerHandlers {
  readonly path: string;
  /** Tried instead of `path` if this user may open it. */
  readonly adminPath?: string;
  /**
   * Retries every `reconnectMs` until closed; otherwise it tries once, and `onClose` reports the
   * end.
   */
  readonly mayRetry: boolean;
  onConnect(peer: Peer): void;
  /**
   * Reports a failed attempt: the operating system's error, or `SocketUntrustedError`, in which
   * case no byte was sent.
   */
  onError(error: NodeJS.ErrnoException): void;
}

/** Connects to a daemon; `close` ends the connection and all attempts. */
export function dial(options: DialOptions): { close(): void } {
  const ipc = newIpc();
  // This function makes the attempts: node-ipc would retry the path of the first one only.
  ipc.config.stopRetrying = true;
  let nextAttempt: NodeJS.Timeout | undefined;
  const id = randomUUID();
  let peer: SocketPeer | null = null;
  let closed = false;
  ipc.connectTo(id, chooseSocket(options.path, options.adminPath), () => {});
  const client = ipc.of[id]!;
  client.on("connect", () => {
    try {
      requireTrustedPlace(client.path);
    } catch (error) {
      client.socket.destroy();
      return options.onError(error as Error);
    }
    const connected = new SocketPeer(client.socket);
    peer = connected;
    takeBytes(client.socket, (bytes) => {
      if (!connected.closed) options.onBytes(connected, bytes);
    });
    options.onConnect(connected);
  });
  client.on("error", (error: NodeJS.ErrnoException) => {
    if (peer === null && !closed) options.onError(error);
  });
  client.on("disconnect", () => {
    const formerPeer = peer;
    peer = null;
    if (options.mayRetry && !closed)
      nextAttempt = setTimeout(() => {
        client.path = chooseSocket(options.path, options.adminPath);
        client.connect();
      }, reconnectMs);
    if (formerPeer === null) return;
    formerPeer.closed = true;
    options.onClose(formerPeer);
  });
  return {
    close() {
      closed = true;
      clearTimeout(nextAttempt);
      peer?.flush();
      client.socket.end();
    },
  };
}

/** Bytes become text and bytes again, which utf8 would destroy. */
const encoding = "latin1";

function newIpc(): IPCModule {
  const ipc = new IPCModule();
  ipc.config.silent = true;
  ipc.config.rawBuffer = true;
  ipc.config.encoding = encoding;
  ipc.config.unlink = false;
  ipc.config.maxConnections = peersMax;
  return ipc;
}
