/**
 * The daemon's totals as they come: ten minutes of samples, and its latest status. It asks while
 * the page is visible, and not otherwise.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { DaemonStatus } from "../../../../shared/api/gateway-status.js";
import type { UsageSummary } from "../../../../shared/api/usage-report.js";
import { type Sample, withSample } from "../logic/rates.js";
import type { GatewayClient } from "./gateway-client.js";

const keepMs = 10 * 60_000;
const askEveryMs = 5_000;

interface Live {
  /** Null until the daemon has told. */
  readonly status: DaemonStatus | null;
  readonly samples: readonly Sample[];
  /** When the latest came, by the browser's monotonic clock. */
  readonly heardMs: number;
}

export class LiveFeed {
  readonly #client: GatewayClient;
  readonly #live = signal<Live>({ status: null, samples: [], heardMs: 0 });
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(client: GatewayClient) {
    this.#client = client;
  }

  get live(): ReadonlySignal<Live> {
    return this.#live;
  }

  /** Ends with what it returns. */
  start(): () => void {
    const follow = (): void => {
      if (document.visibilityState === "hidden") return this.#pause();
      if (this.#timer !== null) return;
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
  }

  async #ask(): Promise<void> {
    const [status, usage] = await Promise.all([
      this.#client.get<DaemonStatus>("/admin/status"),
      this.#client.get<UsageSummary>("/admin/usage?days=1"),
    ]);
    if (!status.ok) return;
    const { body } = status;
    const sample: Sample = {
      atMs: Date.now(),
      admitted: body.admitted,
      refused: body.refused,
      overBudget: body.over_budget,
      tokens: usage.ok ? usage.body.usage.total_tokens : null,
      cost: usage.ok ? usage.body.usage.total_cost : null,
      inFlight: body.in_flight,
    };
    this.#live.value = {
      status: body,
      samples: withSample(this.#live.value.samples, sample, keepMs),
      heardMs: performance.now(),
    };
  }
}
