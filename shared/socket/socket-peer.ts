/**
 * One end of a connection between a proxy and the daemon: it joins the frames of one turn of the
 * event loop into one write, queues large frames behind small ones, and closes a peer that doesn't
 * read. Not here: the meaning of the bytes.
 */
import type net from "node:net";
import { lingerMs, peerBacklogBytesMax } from "../bounds.js";
import { readAfterBrokenPipe } from "./read-after-broken-pipe.js";

/** The connection's interface for its owner. */
export interface Peer {
  /** Queues bytes; those of one turn of the event loop are sent in one write. */
  send(frame: Buffer): void;
  /**
   * Queues a large frame behind everything passed to `send`. It is written once the kernel has
   * accepted the previous large frame, so at most one of them delays later frames. `then` runs once
   * the kernel has accepted it; never if the connection is closed first.
   */
  sendBulk(frame: Buffer, then: () => void): void;
  /**
   * Runs `run` once the kernel has accepted all that `send` was given; never if it is closed first.
   */
  whenSent(run: () => void): void;
  /** Writes queued bytes now, before the turn ends. */
  flush(): void;
  close(): void;
}

interface BulkFrame {
  readonly frame: Buffer;
  readonly then: () => void;
}

const nothing = Buffer.alloc(0);

export class SocketPeer implements Peer {
  /** Set by `end`, and by the owner once the socket has closed: nothing more is written. */
  closed = false;
  readonly #socket: net.Socket;
  #queue: Buffer[] = [];
  #whenSent: (() => void)[] = [];
  readonly #bulk: BulkFrame[] = [];
  #bulkOnTheWay = false;
  #isScheduled = false;
  /**
   * Whether the other end has closed: nothing more is written, but received bytes are still read.
   */
  #isBroken = false;

  constructor(socket: net.Socket) {
    this.#socket = socket;
    // Unread bytes may be settles of answers that clients have received.
    readAfterBrokenPipe(socket, () => {
      this.#isBroken = true;
    });
  }

  send(frame: Buffer): void {
    if (this.closed) return;
    this.#queue.push(frame);
    this.#schedule();
  }

  sendBulk(frame: Buffer, then: () => void): void {
    if (this.closed) return;
    this.#bulk.push({ frame, then });
    this.#schedule();
  }

  whenSent(run: () => void): void {
    if (this.closed) return;
    this.#whenSent.push(run);
    if (this.#queue.length === 0) this.#queue.push(nothing);
    this.#schedule();
  }

  flush(): void {
    this.#isScheduled = false;
    this.#writeQueue();
    if (!this.#bulkOnTheWay) this.#writeBulk();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  #writeQueue(): void {
    if (this.#queue.length === 0) return;
    const frames = this.#queue;
    this.#queue = [];
    if (this.closed || this.#isBroken || !this.#socket.writable) return;
    // In raw mode node-ipc's own `emit` does the same after copying the bytes into a message that
    // it drops.
    this.#socket.write(
      frames.length === 1 ? frames[0]! : Buffer.concat(frames),
      this.#onAccepted(),
    );
    if (this.#socket.writableLength > peerBacklogBytesMax) this.close();
  }

  /** The callback for when the kernel has accepted this write, if anything waits for that. */
  #onAccepted(): ((error?: Error | null) => void) | undefined {
    if (this.#whenSent.length === 0) return undefined;
    const waiting = this.#whenSent;
    this.#whenSent = [];
    return (error) => {
      if (!error && !this.closed && !this.#isBroken) for (const run of waiting) run();
    };
  }

  #writeBulk(): void {
    const next = this.#bulk.shift();
    if (next === undefined || this.closed || this.#isBroken || !this.#socket.writable) return;
    this.#bulkOnTheWay = true;
    this.#socket.write(next.frame, (error) => {
      this.#bulkOnTheWay = false;
      if (error || this.closed || this.#isBroken) return;
      next.then();
      if (this.#bulk.length > 0) this.#schedule();
    });
  }

  /**
   * Closes once the other end has read everything: destroying the socket earlier would lose the
   * unread bytes.
   */
  end(): Promise<void> {
    if (this.closed) return Promise.resolve();
    this.flush();
    for (const { frame } of this.#bulk) this.#socket.write(frame);
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
    // node-ipc emits a separate event for the socket's end, which informs the owner.
    this.#socket.destroy();
  }
}
