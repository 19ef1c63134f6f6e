/**
 * The settles that stopped proxies have left in files, and their delivery by running proxies.
 * Format and steps are the product's, on simulated files and sockets, as
 * `proxy/limiter/spool/settle-spool.ts` wires them to real ones. A file outlives every process;
 * sometimes two proxies deliver the same one at once.
 */
import type { UnacknowledgedSettles } from "../../../proxy/limiter/settle-outbox.js";
import { type DeliveryLine, deliverSettles } from "../../../proxy/limiter/spool/deliver-settles.js";
import {
  endFrame,
  headFrame,
  SettleFileReader,
  settleFrame,
} from "../../../proxy/limiter/spool/settle-file.js";
import { frameBytesMaxFromDaemon } from "../../../shared/bounds.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import { type FromDaemon, parseFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { type Settle, writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import type { Process, World } from "../world.js";
import type { DaemonProcess } from "./daemon-process.js";
import { connectSockets, type SocketFaults } from "./stream-socket.js";

interface LeftFile {
  readonly bytes: Buffer;
  /** The process that delivers it; it counts only while it is alive. */
  takenBy: Process | null;
}

const silenceMs = 3_000;
const lookMs = 400;

export class LeftSettles {
  readonly #world: World;
  readonly #nowMs: () => number;
  readonly #files = new Map<string, LeftFile>();

  /** `nowMs`: the host's wall clock. */
  constructor(world: World, nowMs: () => number) {
    this.#world = world;
    this.#nowMs = nowMs;
  }

  get fileCount(): number {
    return this.#files.size;
  }

  leave(proxyId: string, { count, settles }: UnacknowledgedSettles): void {
    const head = headFrame({ proxyId, writtenAtMs: this.#nowMs(), sentAtMs: 0 });
    const bytes = Buffer.concat([head, ...[...settles].map(settleFrame), endFrame(count)]);
    this.#files.set(proxyId, { bytes, takenBy: null });
    this.#world.count("settles left by a stopped proxy", count);
    this.#world.trace(`${proxyId} leaves ${count} settles`);
  }

  /** A proxy looks for files as long as it lives. */
  watch(owner: Process, daemon: () => DaemonProcess, faults: SocketFaults): void {
    this.#world.every(lookMs, owner, () => {
      if (!daemon().listening) return;
      for (const [proxyId, file] of this.#files) {
        const isTaken = file.takenBy?.alive === true;
        if (file.takenBy === owner || (isTaken && !this.#world.random.chance(0.1))) continue;
        if (isTaken) this.#world.count("left settles delivered by two at once");
        file.takenBy = owner;
        void this.#deliver(proxyId, file, this.#line(owner, daemon(), faults)).then((delivered) => {
          if (!owner.alive) return;
          if (file.takenBy === owner) file.takenBy = null;
          if (!delivered) return;
          // The proxy may be killed before it has removed the file.
          this.#world.after(this.#world.random.between(0, 5), owner, () => this.#remove(proxyId));
        });
      }
    });
  }

  async #deliver(
    proxyId: string,
    { bytes }: LeftFile,
    line: DeliveryLine & { close(): void },
  ): Promise<boolean> {
    const reader = new SettleFileReader();
    const settles: Settle[] = [];
    reader.feed(bytes, (settle) => settles.push(settle));
    const { head, complete: isComplete } = reader;
    if (head === null || !isComplete) return this.#world.fail(`the file of ${proxyId} is damaged`);
    const delivered = await deliverSettles({ head, settles }, line, {
      nowMs: this.#nowMs,
      mayContinue: () => Promise.resolve(true),
    });
    line.close();
    this.#world.trace(`what ${proxyId} left is ${delivered ? "" : "not "}delivered`);
    return delivered;
  }

  #remove(proxyId: string): void {
    if (this.#files.delete(proxyId)) this.#world.count("left settles delivered");
  }

  #line(
    owner: Process,
    listener: DaemonProcess,
    faults: SocketFaults,
  ): DeliveryLine & { close(): void } {
    const [end, daemonEnd] = connectSockets(this.#world, [owner, listener.process], faults).ends;
    const reader = createFrameReader(frameBytesMaxFromDaemon);
    const arrived: FromDaemon[] = [];
    let isEnded = false;
    let take: (message: FromDaemon | null) => void = () => {};
    const close = (): void => {
      isEnded = true;
      take(null);
      end.close();
    };
    end.onBytes = (bytes) =>
      void reader.feed(bytes, (frame) => {
        const message = parseFromDaemon(frame);
        if (message === null || message.kind === "unknown event") return;
        arrived.push(message);
        take(arrived[0]!);
      });
    end.onClose = () => {
      isEnded = true;
      take(null);
    };
    this.#world.after(silenceMs, owner, close);
    listener.accept(daemonEnd);
    return {
      send: (message) => end.send(encodeFrame(writeToDaemon(message))),
      next: () =>
        new Promise((resolve) => {
          if (arrived.length > 0) return resolve(arrived.shift()!);
          if (isEnded) return resolve(null);
          take = (message) => {
            take = () => {};
            arrived.shift();
            resolve(message);
          };
        }),
      close,
    };
  }
}
