/** Whether the gateway and its daemon answer, by the outcomes of all requests. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Problem } from "./gateway-client.js";

/** `daemon-away`: the proxy answers, the limiter daemon behind it doesn't. */
export type Connection = "ok" | "daemon-away" | "unreachable";

export class ConnectionWatch {
  readonly #state = signal<Connection>("ok");

  get state(): ReadonlySignal<Connection> {
    return this.#state;
  }

  /** `problem` is null for a success. `path`: the request's path; some need no daemon. */
  heard(problem: Problem | null, path: string): void {
    const kind = problem?.kind;
    if (kind === "daemon-away" || kind === "unreachable") this.#state.value = kind;
    else if (path.startsWith("/admin/") || this.#state.value === "unreachable")
      this.#state.value = "ok";
  }

  /** The live stream reports that the daemon has gone or returned. */
  daemonIs(isAway: boolean): void {
    this.#state.value = isAway ? "daemon-away" : "ok";
  }
}
