/**
 * One end of a connection between a proxy and the daemon: gathers the frames of one turn of the
 * event loop into one write, and closes a peer that doesn't read. What the bytes mean is not here.
 */
import type net from "node:net";
import { lingerMs, peerBacklogBytesMax } from "../bounds.js";

/** What the owner of a connection may do with it. */
export interface Peer {
  /** Queues bytes; what is queued in one turn of the event loop leaves in one write. */
  send(frame: Buffer): void;
  /** Writes what is queued now, before the turn ends. */
  flush(): void;
  close(): void;
}

export class SocketPeer implements Peer {
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
    // node-ipc emits an event of its own for the socket's end, by which the owner learns of it.
    this.#socket.destroy();
  }
}
