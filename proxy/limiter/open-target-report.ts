/**
 * Reports to the daemon, for `sluice status`, which targets have an open circuit in this proxy. The
 * command line doesn't ask proxies, since any process may listen on their port. The report is
 * repeated while a circuit is open, because the daemon keeps it only as long as the connection.
 */
import { openTargetCharsMax, openTargetsMax } from "../../shared/wire/admin-op.js";
import type { Limiter } from "./client/limiter-client.js";

interface OpenTargetPorts {
  readonly limiter: Pick<Limiter, "call">;
  /** One sentence per open target. */
  open(): readonly string[];
  schedule(ms: number, run: () => void): void;
}

/** A short delay, since many targets may fail together. */
const soonMs = 200;
const againMs = 10_000;

export class OpenTargetReport {
  readonly #ports: OpenTargetPorts;
  #isSoon = false;
  /** Identifies the current report; a newer report replaces it. */
  #turn = 0;

  constructor(ports: OpenTargetPorts) {
    this.#ports = ports;
  }

  /** Called when a target's circuit opens or closes. */
  noteChange(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    this.#ports.schedule(soonMs, () => {
      this.#isSoon = false;
      this.#report();
    });
  }

  #report(): void {
    const targets = this.#ports
      .open()
      .slice(0, openTargetsMax)
      .map((text) => text.slice(0, openTargetCharsMax));
    // If it fails, `sluice status` lists no targets.
    void this.#ports.limiter.call("targets.report", { targets });
    const turn = ++this.#turn;
    if (targets.length === 0) return;
    this.#ports.schedule(againMs, () => {
      if (turn === this.#turn) this.#report();
    });
  }
}
