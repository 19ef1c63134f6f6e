/** Whether the gateway and its daemon answer, from the outcomes of all questions. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Problem } from "./gateway-client.js";

/** `daemon-away`: the proxy answers, the limiter daemon behind it doesn't. */
export type Connection = "ok" | "daemon-away" | "unreachable";

export class ConnectionWatch {
  readonly #state = signal<Connection>("ok");

  get state(): ReadonlySignal<Connection> {
    return this.#state;
  }

  /** Null: a success. */
  heard(problem: Problem | null): void {
    const kind = problem?.kind;
    this.#state.value = kind === "daemon-away" || kind === "unreachable" ? kind : "ok";
  }
}
