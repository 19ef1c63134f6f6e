/**
 * The Unix socket between proxies and the daemon, both ends: the one file that imports node-ipc. It
 * carries bytes; frames are the codec's. It probes a socket's owner before it takes the place over,
 * gathers the frames of one turn of the event loop into one write, and closes a peer that doesn't
 * read.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, statSync, unlinkSync } from "node:fs";
import net from "node:net";
import { dirname } from "node:path";
import { IPCModule } from "node-ipc";
import {
  lingerMs,
  peerBacklogBytesMax,
  peersMax,
  reconnectMs,
  socketPathBytesMax,
} from "../bounds.js";

/** One end of a connection. */
export interface Peer {
  /** Queues bytes; what is queued in one turn of the event loop leaves in one write. */
  send(frame: Buffer): void;
  /** Writes what is queued now, before the turn ends. */
  flush(): void;
  close(): void;
}

export interface PeerHandlers {
  onBytes(peer: Peer, bytes: Buffer): void;
  /** Exactly once for each peer that connected. */
  onClose(peer: Peer): void;
}

export interface ListenOptions extends PeerHandlers {
  readonly path: string;
  /**
   * Whether the group may connect: the directory is 0750 and the socket 0660 instead of 0700 and
   * 0600.
   */
  readonly groupAccess: boolean;
  onConnect(peer: Peer): void;
}

export interface Listener {
  /**
   * Stops listening and removes the socket if it is still ours. Each peer reads what was sent to it
   * before it is closed; resolved when all are gone.
   */
  close(): Promise<void>;
}

/** Why the daemon can't have its socket. */
export class SocketTakenError extends Error {
  override name = "SocketTakenError";
}

/**
 * Listens at `path`. Rejects with `SocketTakenError` when a living daemon answers there; a stale
 * socket is taken over.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const ipc = newIpc();
  const peers = new Map<net.Socket, SocketPeer>();
  if (Buffer.byteLength(options.path) > socketPathBytesMax)
    throw new Error(`the socket path ${options.path} is longer than ${socketPathBytesMax} bytes`);
  makeDirectory(dirname(options.path), options.groupAccess ? 0o750 : 0o700);
  await clearStaleSocket(options.path);
  ipc.serve(options.path, () => {});
  const server = ipc.server;
  server.on("connect", (socket: net.Socket) => {
    const peer = new SocketPeer(socket);
    peers.set(socket, peer);
    // node-ipc's own event names any socket that has ended, not always the one that just did.
    socket.once("close", () => {
      peers.delete(socket);
      peer.closed = true;
      options.onClose(peer);
    });
    options.onConnect(peer);
  });
  server.on("data", (bytes: Buffer, socket: net.Socket) => {
    const peer = peers.get(socket);
    if (peer !== undefined && !peer.closed) options.onBytes(peer, bytes);
  });
  await startServer(server, options);
  const inode = statSync(options.path).ino;
  return {
    async close() {
      // Closing removes whatever stands at the path: it is left to the process's end when that is
      // another daemon's.
      if (isStillOurs(options.path, inode)) server.server.close();
      else server.server.unref();
      await Promise.all([...peers.values()].map((peer) => peer.end()));
    },
  };
}

/**
 * A directory that is there already keeps its mode: it may be shared, and the socket's own mode
 * keeps others out.
 */
function makeDirectory(path: string, mode: number): void {
  const made = mkdirSync(path, { recursive: true, mode });
  const own = process.getuid?.() ?? 0;
  const owner = statSync(path).uid;
  if (own !== 0 && owner !== own && owner !== 0)
    throw new Error(`the socket's directory ${path} belongs to another user (uid ${owner})`);
  // The mask of the process may have taken bits away.
  if (made !== undefined) chmodSync(path, mode);
}

function startServer(server: IPCModule["server"], options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const socketMode = options.groupAccess ? 0o660 : 0o600;
    server.on("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new SocketTakenError(`another daemon listens on ${options.path}`)
          : error,
      ),
    );
    server.on("start", () => {
      chmodSync(options.path, socketMode);
      resolve();
    });
    // The socket is made while `start` runs: the mask keeps everybody else out from the first
    // instant.
    const mask = process.umask(0o777 & ~socketMode);
    try {
      server.start();
    } finally {
      process.umask(mask);
    }
  });
}

function isStillOurs(path: string, inode: number): boolean {
  try {
    return statSync(path).ino === inode;
  } catch {
    // Nothing is there: nothing can be removed by mistake.
    return true;
  }
}

/**
 * Removes a socket that nobody listens on; rejects when somebody does, or when the path is
 * something else.
 */
async function clearStaleSocket(path: string): Promise<void> {
  const state = await probe(path);
  if (state === "live") throw new SocketTakenError(`another daemon listens on ${path}`);
  if (state === "absent") return;
  if (!statSync(path).isSocket()) throw new SocketTakenError(`${path} exists and is not a socket`);
  unlinkSync(path);
}

function probe(path: string): Promise<"live" | "stale" | "absent"> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve("live");
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") resolve("absent");
      else if (error.code === "ECONNREFUSED" || error.code === "ENOTSOCK") resolve("stale");
      else reject(error);
    });
  });
}

export interface DialOptions extends PeerHandlers {
  readonly path: string;
  /**
   * Try again every `reconnectMs` until closed; otherwise one attempt, and `onClose` tells of its
   * end.
   */
  readonly retry: boolean;
  onConnect(peer: Peer): void;
  /** A failed attempt, with the operating system's reason. */
  onError(error: NodeJS.ErrnoException): void;
}

/** Connects to a daemon; returns what ends the connection and all attempts. */
export function dial(options: DialOptions): { close(): void } {
  const ipc = newIpc();
  ipc.config.retry = reconnectMs;
  ipc.config.stopRetrying = !options.retry;
  const id = randomUUID();
  let peer: SocketPeer | null = null;
  let closed = false;
  ipc.connectTo(id, options.path, () => {});
  const client = ipc.of[id]!;
  client.on("connect", () => {
    peer = new SocketPeer(client.socket);
    options.onConnect(peer);
  });
  client.on("data", (bytes: Buffer) => {
    if (peer !== null && !peer.closed) options.onBytes(peer, bytes);
  });
  client.on("error", (error: NodeJS.ErrnoException) => {
    if (peer === null && !closed) options.onError(error);
  });
  client.on("disconnect", () => {
    const gone = peer;
    peer = null;
    if (gone === null) return;
    gone.closed = true;
    options.onClose(gone);
  });
  return {
    close() {
      closed = true;
      peer?.flush();
      client.explicitlyDisconnected = true;
      client.socket.end();
    },
  };
}

function newIpc(): IPCModule {
  const ipc = new IPCModule();
  ipc.config.silent = true;
  ipc.config.rawBuffer = true;
  // The default, utf8, destroys binary: node-ipc makes text of each chunk and bytes of the text.
  ipc.config.encoding = "latin1";
  ipc.config.unlink = false;
  ipc.config.maxConnections = peersMax;
  return ipc;
}

class SocketPeer implements Peer {
  closed = false;
  readonly #socket: net.Socket;
  #queue: Buffer[] = [];
  #scheduled = false;

  constructor(socket: net.Socket) {
    this.#socket = socket;
  }

  send(frame: Buffer): void {
    if (this.closed) return;
    this.#queue.push(frame);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    if (this.#queue.length === 0) return;
    const frames = this.#queue;
    this.#queue = [];
    if (this.closed || !this.#socket.writable) return;
    // In raw mode node-ipc's own `emit` does the same after copying the bytes and making a message
    // that it drops.
    this.#socket.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
    if (this.#socket.writableLength > peerBacklogBytesMax) this.close();
  }

  /**
   * Closes once the other end has read everything: a write of its own to a socket that is gone
   * already would take the unread bytes with it.
   */
  end(): Promise<void> {
    if (this.closed) return Promise.resolve();
    this.flush();
    this.closed = true;
    return new Promise((resolve) => {
      const deadline = setTimeout(() => this.#socket.destroy(), lingerMs);
      this.#socket.once("close", () => {
        clearTimeout(deadline);
        resolve();
      });
      this.#socket.end();
    });
  }

  close(): void {
    if (this.closed) return;
    this.flush();
    // node-ipc tells of the socket's end through its own event, which is where the owner hears of
    // it.
    this.#socket.destroy();
  }
}
