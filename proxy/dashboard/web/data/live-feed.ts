/**
 * The daemon's totals as they come: ten minutes of samples, and its latest status. They come by
 * the live stream, once a second; where there is none, or something between gathers it up, by
 * asking. Nothing is asked while the page is hidden.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { DaemonStatus } from "../../../../shared/api/gateway-status.js";
import type { Timed } from "../../../../shared/api/list-page.js";
import type { LiveEvents } from "../../../../shared/api/live-event.js";
import type { UsageSummary } from "../../../../shared/api/usage-report.js";
import { type Sample, withSample } from "../logic/rates.js";
import type { ConnectionWatch } from "./connection.js";
import type { GatewayClient } from "./gateway-client.js";

const keepMs = 10 * 60_000;
const askEveryMs = 5_000;
/** A stream that is silent for so long, once a second as it should speak, isn't passed on. */
const silentMs = 6_000;

interface Live {
  /** Null until the daemon has told. */
  readonly status: DaemonStatus | null;
  readonly samples: readonly Sample[];
  /** When the latest came, by the browser's monotonic clock. */
  readonly heardMs: number;
}

export class LiveFeed {
  readonly #client: GatewayClient;
  readonly #connection: ConnectionWatch;
  readonly #live = signal<Live>({ status: null, samples: [], heardMs: 0 });
  #timer: ReturnType<typeof setInterval> | null = null;
  #stream: EventSource | null = null;
  #streamOpenedMs = 0;
  #isLost = false;
  #today: Pick<Sample, "tokens" | "cost"> = { tokens: null, cost: null };

  constructor(client: GatewayClient, connection: ConnectionWatch) {
    this.#client = client;
    this.#connection = connection;
  }

  get live(): ReadonlySignal<Live> {
    return this.#live;
  }

  /** Ends with what it returns. */
  start(): () => void {
    const follow = (): void => {
      if (document.visibilityState === "hidden") return this.#pause();
      if (this.#timer !== null) return;
      this.#openStream();
      void this.#ask();
      this.#timer = setInterval(() => void this.#ask(), askEveryMs);
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      this.#pause();
    };
  }

  #pause(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#closeStream();
  }

  #openStream(): void {
    if (typeof EventSource === "undefined") return;
    const stream = new EventSource("/admin/live");
    this.#stream = stream;
    this.#streamOpenedMs = performance.now();
    this.#isLost = false;
    stream.addEventListener("tick", ({ data }: MessageEvent<string>) => {
      const { status, server_time } = JSON.parse(data) as LiveEvents["tick"];
      this.#take(status, Date.parse(server_time));
    });
    stream.addEventListener("lost", () => this.#daemonIs(true));
    stream.addEventListener("back", () => this.#daemonIs(false));
    stream.addEventListener("ended", () => this.#closeStream());
    // The browser connects again by itself, unless the answer was no stream.
    stream.addEventListener("error", () => {
      if (stream.readyState === EventSource.CLOSED) this.#closeStream();
    });
  }

  #closeStream(): void {
    this.#stream?.close();
    this.#stream = null;
  }

  #daemonIs(away: boolean): void {
    this.#isLost = away;
    this.#connection.daemonIs(away);
  }

  /** Whether the stream speaks, or says why it doesn't. */
  #isStreaming(): boolean {
    if (this.#stream === null) return false;
    const heardMs = Math.max(this.#live.value.heardMs, this.#streamOpenedMs);
    return this.#isLost || performance.now() - heardMs < silentMs;
  }

  async #ask(): Promise<void> {
    if (this.#stream !== null && !this.#isStreaming()) this.#closeStream();
    const isStreaming = this.#isStreaming() && this.#live.value.heardMs > this.#streamOpenedMs;
    const [usage, status] = await Promise.all([
      this.#client.get<UsageSummary>("/admin/usage?days=1"),
      isStreaming ? null : this.#client.get<DaemonStatus & Partial<Timed>>("/admin/status"),
    ]);
    if (usage.ok) {
      const { total_tokens: tokens, total_cost: cost } = usage.body.usage;
      this.#today = { tokens, cost };
    }
    if (status?.ok !== true) return;
    const { server_time } = status.body;
    this.#take(status.body, server_time === undefined ? Date.now() : Date.parse(server_time));
  }

  #take(status: DaemonStatus, atMs: number): void {
    const sample: Sample = {
      atMs,
      admitted: status.admitted,
      refused: status.refused,
      overBudget: status.over_budget,
      inFlight: status.in_flight,
      ...this.#today,
    };
    this.#live.value = {
      status,
      samples: withSample(this.#live.value.samples, sample, keepMs),
      heardMs: performance.now(),
    };
  }
}
