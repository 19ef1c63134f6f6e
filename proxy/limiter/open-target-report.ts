/**
 * Reports to the daemon the targets whose circuit is open in this proxy, so that `sluice status`
 * names them: the command line asks no proxy for names, since any process may have its port. The
 * report is repeated while there are any, because the daemon keeps it for the connection only.
 */
import { openTargetCharsMax, openTargetsMax } from "../../shared/wire/admin-op.js";
import type { Limiter } from "./limiter.js";

interface OpenTargetPorts {
  readonly limiter: Pick<Limiter, "call">;
  /** A sentence for each. */
  open(): readonly string[];
  schedule(ms: number, run: () => void): void;
}

/** Many targets may fail together. */
const soonMs = 200;
const againMs = 10_000;

export class OpenTargetReport {
  readonly #ports: OpenTargetPorts;
  #isSoon = false;
  /** Of the report that is repeated: a newer one replaces it. */
  #turn = 0;

  constructor(ports: OpenTargetPorts) {
    this.#ports = ports;
  }

  /** A target's circuit opens or closes. */
  changed(): void {
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
    // If it fails, `sluice status` names none.
    void this.#ports.limiter.call("targets.report", { targets });
    const turn = ++this.#turn;
    if (targets.length === 0) return;
    this.#ports.schedule(againMs, () => {
      if (turn === this.#turn) this.#report();
    });
  }
}
