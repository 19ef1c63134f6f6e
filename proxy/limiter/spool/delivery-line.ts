/** A connection to the daemon's socket for one delivery: opened once, read message by message. */
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import { dial } from "../../../shared/socket/ipc.js";
import type { Peer } from "../../../shared/socket/socket-peer.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { FromDaemon, UnknownEvent } from "../../../shared/wire/message-from-daemon.js";
import { parseFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import type { DeliveryLine } from "./deliver-settles.js";

/** How long the daemon may be silent; settles that it can't commit now are retried later. */
const silenceMs = 10_000;

export class SocketLine implements DeliveryLine {
  readonly #link: { close(): void };
  #peer: Peer | null = null;
  #unsent: ToDaemon[] = [];
  #arrived: FromDaemon[] = [];
  #hasEnded = false;
  #take: ((message: FromDaemon | null) => void) | null = null;
  readonly #silence: NodeJS.Timeout;

  constructor(
    { path, adminPath }: { readonly path: string; readonly adminPath: string },
    silentMs = silenceMs,
  ) {
    const reader = createFrameReader(frameBytesMaxFromDaemon);
    this.#silence = setTimeout(() => this.close(), silentMs);
    this.#link = dial({
      path,
      adminPath,
      mayRetry: false,
      onConnect: (peer) => {
        this.#peer = peer;
        for (const message of this.#unsent.splice(0)) this.send(message);
      },
      onBytes: (_, bytes) => {
        this.#silence.refresh();
        if (!reader.feed(bytes, (frame) => this.#received(parseFromDaemon(frame)))) this.close();
      },
      onClose: () => this.#end(),
      onError: () => this.#end(),
    });
  }

  send(message: ToDaemon): void {
    if (this.#peer === null) this.#unsent.push(message);
    else this.#peer.send(encodeFrame(writeToDaemon(message)));
  }

  next(): Promise<FromDaemon | null> {
    const arrived = this.#arrived.shift();
    if (arrived !== undefined) return Promise.resolve(arrived);
    if (this.#hasEnded) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#take = resolve;
    });
  }

  close(): void {
    this.#end();
    this.#link.close();
  }

  /** Ignores unreadable messages and those of later releases: no delivery waits for them. */
  #received(message: FromDaemon | UnknownEvent | null): void {
    if (message === null || message.kind === "unknown event") return;
    const take = this.#take;
    this.#take = null;
    if (take === null) this.#arrived.push(message);
    else take(message);
  }

  #end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#silence);
    this.#take?.(null);
  }
}
