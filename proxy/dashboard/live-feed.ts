/**
 * The live events for all watchers (docs/reference/admin-api.md, "Live"): once a second the
 * daemon's status, the latest refusals and the watched pages of rules and budgets. Each is
 * requested once, however many watch it; without watchers nothing is requested. `live-stream.ts`
 * has the connections.
 */
import { statusForSubtree } from "../../shared/access/subtree-status.js";
import type { DaemonStatus } from "../../shared/api/gateway-status.js";
import type { LiveEvents } from "../../shared/api/live-event.js";
import type { RefusalItem, RefusalPage } from "../../shared/api/refusal-item.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import { keepAliveMs, pagesPerTick, refusalsPerTick, tickMs, watchersMax } from "../bounds.js";
import { type CallWithin, type ListWatch, LivePages, wholePage } from "./live-lists.js";

/** One connection. */
export interface Watcher {
  /** The subtree of the watcher's role; `/` for everything. */
  readonly within: string;
  /** The watched pages. */
  readonly lists: readonly ListWatch[];
  /** Whether it has read all earlier events. */
  readonly isReady: boolean;
  /** Whether it may still watch; null if that is unknown at the moment. */
  mayWatch(): Promise<boolean | null>;
  write(events: Buffer): void;
  end(): void;
}

interface FeedPorts {
  readonly call: CallWithin;
  /** Whether the daemon is connected; otherwise a call would wait as long as an admission. */
  reachable(): boolean;
  setTimer(ms: number, run: () => void): void;
  monoMs(): number;
  nowMs(): number;
}

/** A watcher and its state. */
interface Watching {
  readonly watcher: Watcher;
  /** The keys of the pages that it has received as a whole; later ticks send only changes. */
  readonly sent: Set<string>;
  writtenMonoMs: number;
}

/** An event with its data as JSON, which contains no line breaks. */
function encodeJsonEvent(name: keyof LiveEvents, data: string, id = ""): string {
  return `event: ${name}\n${id === "" ? "" : `id: ${id}\n`}data: ${data}\n\n`;
}

function encodeEvent<Name extends keyof LiveEvents>(name: Name, data: LiveEvents[Name]): string {
  return encodeJsonEvent(name, JSON.stringify(data));
}

export class LiveFeed {
  readonly #ports: FeedPorts;
  readonly #watching = new Set<Watching>();
  readonly #pages = new LivePages();
  #isTicking = false;
  #isClosed = false;
  #ticks = 0;
  /** The status of the last tick; null if there was none, or the daemon was away. */
  #status: DaemonStatus | null = null;
  /** Whether watchers were told that the daemon doesn't answer. */
  #isLost = false;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
  }

  get watchers(): number {
    return this.#watching.size;
  }

  /**
   * Whether a further watcher must be refused. Roles for subtrees get at most half of the places.
   */
  isFullFor(within: string): boolean {
    if (this.#isClosed || this.#watching.size >= watchersMax) return true;
    if (within === "/") return false;
    const subtreeWatchers = [...this.#watching].filter(({ watcher }) => watcher.within !== "/");
    return subtreeWatchers.length >= watchersMax / 2;
  }

  /** Returns a function that ends the watch. */
  watch(watcher: Watcher): () => void {
    const watching = { watcher, sent: new Set<string>(), writtenMonoMs: this.#ports.monoMs() };
    this.#watching.add(watching);
    if (!this.#isTicking) {
      this.#isTicking = true;
      void this.#tick();
    }
    return () => void this.#watching.delete(watching);
  }

  /** Ends all streams; browsers reconnect to another proxy. */
  close(): void {
    this.#isClosed = true;
    for (const { watcher } of this.#watching) watcher.end();
    this.#watching.clear();
  }

  async #tick(): Promise<void> {
    const beganMonoMs = this.#ports.monoMs();
    try {
      if (!this.#ports.reachable()) this.#sendLost("the limiter daemon does not answer");
      else await this.#poll();
      this.#keepAlive();
    } finally {
      const waitMs = Math.max(0, tickMs - (this.#ports.monoMs() - beganMonoMs));
      if (this.#watching.size > 0) this.#ports.setTimer(waitMs, () => void this.#tick());
      else this.#reset();
    }
  }

  async #poll(): Promise<void> {
    await this.#endSessions();
    const status = await this.#ports.call("status", null, "/");
    if (status.ok) await this.#sendStatus(status.body as DaemonStatus);
    else this.#sendLost(status.failure.message);
  }

  /** Forgets everything when the last watcher has left. */
  #reset(): void {
    this.#isTicking = false;
    this.#status = null;
    this.#isLost = false;
    this.#pages.keep(new Set());
  }

  /** Ends the streams of watchers that have signed out. */
  async #endSessions(): Promise<void> {
    const checks = [...this.#watching].map(async (watching) => {
      if ((await watching.watcher.mayWatch()) !== false || !this.#watching.has(watching)) return;
      this.#watching.delete(watching);
      watching.watcher.write(Buffer.from(encodeEvent("ended", {})));
      watching.watcher.end();
    });
    await Promise.all(checks);
  }

  async #sendStatus(status: DaemonStatus): Promise<void> {
    const server_time = new Date(this.#ports.nowMs()).toISOString();
    const back = this.#isLost ? encodeEvent("back", {}) : "";
    this.#isLost = false;
    const id = String(++this.#ticks);
    const tick = (status: LiveEvents["tick"]["status"]): string =>
      back + encodeJsonEvent("tick", JSON.stringify({ server_time, status: status }), id);
    this.#writeAll(tick(status), (within) => within === "/");
    this.#writeAll(tick(statusForSubtree(status)), (within) => within !== "/");
    const before = this.#status;
    this.#status = status;
    if (before !== null) await this.#sendRefused(before, status);
    await this.#sendLists();
  }

  async #sendRefused(before: DaemonStatus, status: DaemonStatus): Promise<void> {
    const hasRestarted = status.refused < before.refused;
    const count = status.refused - (hasRestarted ? 0 : before.refused);
    if (count === 0) return;
    // Refusals are numbered in order of counting; the next tick reports the later ones.
    const after = String(status.refused + 1);
    const limit = Math.min(count, refusalsPerTick);
    const query = { after, limit };
    const page = await this.#ports.call("refusals.list", query, "/");
    if (!page.ok) return;
    const { refusals } = page.body as RefusalPage;
    const more = count - refusals.length;
    const rest = more > 0 ? encodeEvent("refused", { more }) : "";
    this.#writeAll(oldestFirst(refusals) + rest, (within) => within === "/");
    const subtrees = new Set([...this.#watching].map(({ watcher }) => watcher.within));
    for (const subtree of subtrees) {
      if (subtree === "/" || !refusals.some(({ user_path: path }) => isPathWithin(path, subtree)))
        continue;
      // Requested again: such a role may not see the limits above its subtree.
      const subtreePage = await this.#ports.call("refusals.list", query, subtree);
      if (!subtreePage.ok) return;
      const sentNames = new Set(refusals.map(nameOfRefusal));
      // That page goes further back: it has refusals that were reported before.
      const newRefusals = (subtreePage.body as RefusalPage).refusals.filter((refusal) =>
        sentNames.has(nameOfRefusal(refusal)),
      );
      this.#writeAll(oldestFirst(newRefusals), (within) => within === subtree);
    }
  }

  async #sendLists(): Promise<void> {
    const watches = new Map<string, ListWatch>();
    for (const { watcher } of this.#watching)
      for (const watch of watcher.lists) watches.set(watch.key, watch);
    this.#pages.keep(new Set(watches.keys()));
    const beganMonoMs = this.#ports.monoMs();
    for (const watch of this.#pages.listsDue([...watches.values()], pagesPerTick, beganMonoMs))
      await this.#sendList(watch);
  }

  async #sendList(watch: ListWatch): Promise<void> {
    const { list, key } = watch;
    const askedMonoMs = this.#ports.monoMs();
    const page = await wholePage(watch, this.#ports.call);
    if (page === null) return;
    const endedMonoMs = this.#ports.monoMs();
    const took = { ms: endedMonoMs - askedMonoMs, endedMonoMs };
    const { changed, whole } = this.#pages.next(watch, page, took);
    for (const watching of this.#watching) {
      const { watcher, sent } = watching;
      if (!watcher.lists.some((list) => list.key === key)) continue;
      const data = sent.has(key) ? changed : whole();
      if (watcher.isReady) sent.add(key);
      else sent.clear();
      if (watcher.isReady && data !== null)
        this.#write(watching, Buffer.from(encodeJsonEvent(list, data)));
    }
  }

  #sendLost(message: string): void {
    this.#status = null;
    if (this.#isLost) return;
    this.#isLost = true;
    this.#writeAll(encodeEvent("lost", { message }));
  }

  #keepAlive(): void {
    const nowMonoMs = this.#ports.monoMs();
    for (const watching of this.#watching)
      if (watching.watcher.isReady && nowMonoMs - watching.writtenMonoMs >= keepAliveMs)
        this.#write(watching, Buffer.from(": keep-alive\n\n"));
  }

  /**
   * Sends to all watchers, or those of some subtrees, that have read earlier events. The others
   * miss it, and get a whole page later.
   */
  #writeAll(text: string, isFor: (within: string) => boolean = () => true): void {
    if (text === "") return;
    const bytes = Buffer.from(text);
    for (const watching of this.#watching) {
      if (!isFor(watching.watcher.within)) continue;
      if (watching.watcher.isReady) this.#write(watching, bytes);
      else watching.sent.clear();
    }
  }

  #write(watching: Watching, bytes: Buffer): void {
    watching.writtenMonoMs = this.#ports.monoMs();
    watching.watcher.write(bytes);
  }
}

function oldestFirst(refusals: readonly RefusalItem[]): string {
  return refusals
    .toReversed()
    .map((refusal) => encodeEvent("refused", refusal))
    .join("");
}

/** Callers elsewhere may have chosen the same request id. */
function nameOfRefusal({
  request_id: id,
  refused_at: refusedAt,
  user_path: path,
}: RefusalItem): string {
  return JSON.stringify([id, refusedAt, path]);
}
