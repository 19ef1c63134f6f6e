/**
 * The live data: ten minutes of samples of the daemon's totals, its latest status, and changes on
 * the visible pages of rules and budgets. The live stream sends them once a second; without it, or
 * if something in between buffers it, they are polled. Nothing is requested while the page is
 * hidden.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { DaemonStatus, SubtreeStatus } from "../../../../shared/api/gateway-status.js";
import type { TimedAnswer } from "../../../../shared/api/list-page.js";
import type { LiveEvents, LiveLists } from "../../../../shared/api/live-event.js";
import type { UsageSummary } from "../../../../shared/api/usage-report.js";
import { type Sample, withSample } from "../logic/rates.js";
import type { ConnectionWatch } from "./connection.js";
import type { GatewayClient } from "./gateway-client.js";

const keepMs = 10 * 60_000;
const askEveryMs = 5_000;
/** Today's cost is requested after spend, but not more often than this. */
const costEveryMs = 2_000;
/** A stream without events for so long is being buffered: it should send one a second. */
const silentMs = 6_000;
/** A refused stream is tried again: other watchers may have left. */
const refusedMs = 30_000;
/** The parts of a page register their lists one after the other within this time. */
const gatherMs = 30;

interface Live {
  /** Null for a role for a subtree, and until the daemon has sent it. */
  readonly status: DaemonStatus | null;
  readonly samples: readonly Sample[];
  /** When the latest arrived, by the browser's monotonic clock. */
  readonly heardMs: number;
}

/** Receives the changes of one page of a list. */
export interface ListReader<Message> {
  take(message: Message): void;
  /** Everything without a reported change is unchanged. */
  tick(serverTime: string): void;
  /** No further changes arrive. */
  lost(): void;
}

interface ListFollower<Name extends keyof LiveLists> {
  readonly list: Name;
  /** The filter of the list. Followers at the same time have the same one. */
  readonly query: string;
  readonly reader: ListReader<LiveLists[Name]>;
}

/** A part of a page that shows one page of a list. */
export type Follower = ListFollower<"rules"> | ListFollower<"budgets">;

export class LiveFeed {
  readonly #client: GatewayClient;
  readonly #connection: ConnectionWatch;
  readonly #live = signal<Live>({ status: null, samples: [], heardMs: 0 });
  readonly #followers = new Set<Follower>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #opening: ReturnType<typeof setTimeout> | null = null;
  #stream: EventSource | null = null;
  #streamOpenedMs = 0;
  #refusedMs = Number.NEGATIVE_INFINITY;
  /** Whether the stream has said that the daemon doesn't answer. */
  #isLost = false;
  #wantsCost = true;
  #costToday: number | null = null;
  #costAskedMs = Number.NEGATIVE_INFINITY;

  constructor(client: GatewayClient, connection: ConnectionWatch) {
    this.#client = client;
    this.#connection = connection;
  }

  get live(): ReadonlySignal<Live> {
    return this.#live;
  }

  /** Returns a function that stops it. */
  start(): () => void {
    const onVisibility = (): void => {
      if (document.visibilityState === "hidden") return this.#pause();
      if (this.#timer !== null) return;
      this.#openSoon();
      void this.#ask();
      this.#timer = setInterval(() => void this.#ask(), askEveryMs);
    };
    onVisibility();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      this.#pause();
    };
  }

  /** Returns a function that stops it. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    this.#openSoon();
    return () => {
      this.#followers.delete(follower);
      this.#openSoon();
    };
  }

  #pause(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    if (this.#opening !== null) clearTimeout(this.#opening);
    this.#opening = null;
    this.#closeStream();
  }

  /** Opens another stream for the visible lists once all parts of a page have registered. */
  #openSoon(): void {
    if (this.#opening !== null) return;
    this.#opening = setTimeout(() => {
      this.#opening = null;
      if (document.visibilityState === "hidden" || this.#timer === null) return;
      this.#closeStream();
      this.#openStream();
    }, gatherMs);
  }

  #openStream(): void {
    if (typeof EventSource === "undefined") return;
    const stream = new EventSource(`/admin/live${queryOf(this.#followers)}`);
    this.#stream = stream;
    this.#streamOpenedMs = performance.now();
    this.#isLost = false;
    this.#onEvent(stream, "tick", ({ status, server_time }) => {
      this.#takeStatus(status, Date.parse(server_time));
      for (const { reader } of this.#followers) reader.tick(server_time);
    });
    this.#onEvent(stream, "rules", (message) => {
      for (const each of this.#followers) if (each.list === "rules") each.reader.take(message);
    });
    this.#onEvent(stream, "budgets", (message) => {
      for (const each of this.#followers) if (each.list === "budgets") each.reader.take(message);
    });
    this.#onEvent(stream, "lost", () => this.#noteDaemon(true));
    this.#onEvent(stream, "back", () => this.#noteDaemon(false));
    this.#onEvent(stream, "ended", () => this.#closeStream());
    // The browser reconnects on its own, unless the answer was no stream.
    stream.addEventListener("error", () => {
      for (const { reader } of this.#followers) reader.lost();
      if (stream.readyState !== EventSource.CLOSED) return;
      this.#refusedMs = performance.now();
      this.#closeStream();
    });
  }

  #onEvent<Name extends keyof LiveEvents>(
    stream: EventSource,
    name: Name,
    take: (data: LiveEvents[Name]) => void,
  ): void {
    stream.addEventListener(name, ({ data }: MessageEvent<string>) => take(JSON.parse(data)));
  }

  #closeStream(): void {
    if (this.#stream === null) return;
    this.#stream.close();
    this.#stream = null;
    for (const { reader } of this.#followers) reader.lost();
  }

  #noteDaemon(isAway: boolean): void {
    this.#isLost = isAway;
    this.#connection.daemonIs(isAway);
  }

  /** Whether the stream sends events, or has said why it doesn't. */
  #isStreaming(): boolean {
    if (this.#stream === null) return false;
    const heardMs = Math.max(this.#live.value.heardMs, this.#streamOpenedMs);
    return this.#isLost || performance.now() - heardMs < silentMs;
  }

  async #ask(): Promise<void> {
    if (this.#stream !== null && !this.#isStreaming()) this.#closeStream();
    const refusedFor = performance.now() - this.#refusedMs;
    if (this.#stream === null && refusedFor >= refusedMs && Number.isFinite(refusedFor)) {
      this.#refusedMs = Number.NEGATIVE_INFINITY;
      this.#openSoon();
    }
    const isStreaming = this.#isStreaming() && this.#live.value.heardMs > this.#streamOpenedMs;
    const [status] = await Promise.all([
      isStreaming
        ? null
        : this.#client.get<(DaemonStatus | SubtreeStatus) & Partial<TimedAnswer>>("/admin/status"),
      this.#askCost(),
    ]);
    if (status?.ok !== true) return;
    const { server_time } = status.body;
    this.#takeStatus(status.body, server_time === undefined ? Date.now() : Date.parse(server_time));
  }

  async #askCost(): Promise<void> {
    if (!this.#wantsCost) return;
    this.#costAskedMs = performance.now();
    const usage = await this.#client.get<UsageSummary>("/admin/usage?days=1");
    if (usage.ok) this.#costToday = usage.body.usage.total_cost;
  }

  /**
   * Adds a sample of a status. A role for a subtree doesn't get the counts of the whole gateway.
   */
  #takeStatus(status: DaemonStatus | SubtreeStatus, atMs: number): void {
    const isWhole = "admitted" in status;
    this.#wantsCost = isWhole;
    if (!isWhole) {
      this.#live.value = { status: null, samples: [], heardMs: performance.now() };
      return;
    }
    const { samples, status: before } = this.#live.value;
    const hasSpent = before !== null && before.cost !== status.cost;
    if (hasSpent && performance.now() - this.#costAskedMs >= costEveryMs) void this.#askCost();
    const sample: Sample = {
      atMs,
      admitted: status.admitted,
      refused: status.refused,
      overBudget: status.over_budget,
      inFlight: status.in_flight,
      tokens: status.usage_enabled ? status.tokens : null,
      costToday: this.#costToday,
    };
    this.#live.value = {
      status,
      samples: withSample(samples, sample, keepMs),
      heardMs: performance.now(),
    };
  }
}

function queryOf(followers: ReadonlySet<Follower>): string {
  const [first] = followers;
  if (first === undefined) return "";
  const lists = [...followers].map(({ list }) => `${list}=true`);
  return `?${[...new Set(lists)].join("&")}&${first.query}`;
}
