/**
 * The spool of settles that the daemon hadn't acknowledged when their proxy stopped: a stopping
 * proxy leaves its own, and each running proxy delivers those that it finds. This file has the
 * order of steps; `deliver-settles.ts` makes the delivery exactly-once.
 */
import { randomUUID } from "node:crypto";
import type { Config } from "../../../shared/config/config.js";
import type { Log } from "../../../shared/log.js";
import type { Settle } from "../../../shared/wire/message-to-daemon.js";
import type { UnacknowledgedSettles } from "../settle-outbox.js";
import { deliverSettles } from "./deliver-settles.js";
import { SocketLine } from "./delivery-line.js";
import {
  type ClaimedFile,
  isForgotten,
  SettleDirectory,
  type SpoolFile,
} from "./settle-directory.js";
import { SettleFileReader } from "./settle-file.js";

/** How often a proxy looks for files, which may appear at any time. */
const pollMs = 30_000;

const notDelivered = "a file of settles can't be delivered now: it is tried again";

/** How long a stopping proxy waits for its last settles to be acknowledged. */
export const settleGraceMs = 2_000;

export class SettleSpool {
  readonly #config: Config["limiter"];
  readonly #log: Log;
  readonly #directory: SettleDirectory;
  #isLinked = false;
  #polling: Promise<void> | null = null;
  #line: SocketLine | null = null;
  readonly #timer: NodeJS.Timeout;
  #lastProblem = "";
  #closed = false;

  constructor(config: Config["limiter"], log: Log) {
    this.#config = config;
    this.#log = log;
    this.#directory = new SettleDirectory(config.spoolDir, randomUUID());
    this.#timer = setInterval(() => this.#poll(), pollMs).unref();
  }

  /** Called when the daemon becomes reachable or unreachable. */
  linkChanged(isLinked: boolean): void {
    this.#isLinked = isLinked && !this.#closed;
    if (this.#isLinked) this.#poll();
    else this.#line?.close();
  }

  /** Stops delivering; leaves the current file to the next proxy. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closed = true;
    this.linkChanged(false);
    await this.#polling;
  }

  /** Leaves settles to the next proxy; never rejects. */
  async leave(
    proxyId: string,
    { count, settles, sentAgoMs }: UnacknowledgedSettles,
  ): Promise<void> {
    const writtenAtMs = Date.now();
    const sentAtMs = sentAgoMs === null ? 0 : Math.max(1, Math.round(writtenAtMs - sentAgoMs));
    const about = { directory: this.#directory.path, settles: count };
    try {
      await this.#directory.prepare();
      const writtenCount = await this.#directory.write({ proxyId, writtenAtMs, sentAtMs }, settles);
      this.#log.warn(
        about,
        "the limiter daemon never acknowledged these settles: they are left for the next proxy to deliver",
      );
      if (writtenCount < count)
        this.#log.error(
          { ...about, lost: count - writtenCount },
          "too many settles wait in the directory: the last ones are lost",
        );
    } catch (error) {
      this.#log.error(
        { ...about, reason: messageOf(error) },
        "the limiter daemon never acknowledged these settles, and they can't be written: they are lost",
      );
    }
  }

  #poll(): void {
    if (this.#polling !== null || !this.#isLinked) return;
    this.#polling = this.#deliverAll()
      .catch((error: unknown) =>
        this.#warnOnce(messageOf(error), "settles of stopped proxies can't be kept or delivered"),
      )
      .finally(() => {
        this.#polling = null;
      });
  }

  async #deliverAll(): Promise<void> {
    await this.#directory.prepare();
    for (const file of await this.#directory.find(Date.now())) {
      if (!this.#isLinked) return;
      try {
        await this.#deliver(file);
      } catch (error) {
        this.#warnOnce(`${file.name}: ${messageOf(error)}`, notDelivered);
      }
    }
  }

  async #deliver(settleFile: SpoolFile): Promise<void> {
    if (settleFile.flaw !== null)
      return this.#setAside(settleFile, this.#directory.setAside(settleFile.name), settleFile.flaw);
    const file = await this.#directory.take(settleFile);
    if (file === null) return;
    const { head, count, complete } = await readToEnd(file);
    if (head === null || !complete)
      return this.#setAside(settleFile, file.setAside(), "it is damaged");
    if (isForgotten(head, settleFile.triedAtMs, Date.now()))
      return this.#setAside(
        settleFile,
        file.setAside(),
        "it is so old that the daemon may have forgotten which of them it has counted",
      );
    // While the file was read, the daemon may have gone or this proxy been stopped.
    if (!this.#isLinked) return file.release();
    const { socket: path, adminSocket: adminPath } = this.#config;
    const line = new SocketLine({ path, adminPath });
    this.#line = line;
    const isDelivered = await deliverSettles({ head, settles: settlesOf(file) }, line, {
      nowMs: Date.now,
      mayContinue: () => file.touch(),
    }).finally(() => line.close());
    await (isDelivered ? file.remove() : file.release());
    const about = { proxy: head.proxyId, settles: count };
    if (isDelivered) this.#log.info(about, "delivered the settles that a stopped proxy had left");
    else this.#warnOnce(settleFile.name, notDelivered);
  }

  async #setAside({ name }: SpoolFile, done: Promise<void>, reason: string): Promise<void> {
    await done;
    this.#log.error(
      { directory: this.#directory.path, file: name, reason },
      "a file of settles can't be delivered: it is set aside",
    );
  }

  /** Warns once per reason. */
  #warnOnce(reason: string, message: string): void {
    if (reason === this.#lastProblem) return;
    this.#lastProblem = reason;
    this.#log.warn({ directory: this.#directory.path, reason }, message);
  }
}

/** Reads all of a file before any of it is sent: a damaged file isn't delivered in part. */
async function readToEnd(file: ClaimedFile): Promise<SettleFileReader> {
  const reader = new SettleFileReader();
  for await (const piece of file.readPieces()) if (!reader.feed(piece, () => {})) break;
  return reader;
}

async function* settlesOf(file: ClaimedFile): AsyncGenerator<Settle> {
  const reader = new SettleFileReader();
  const ready: Settle[] = [];
  for await (const piece of file.readPieces()) {
    reader.feed(piece, (settle) => ready.push(settle));
    yield* ready.splice(0);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
