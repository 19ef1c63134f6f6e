/**
 * Tells the daemon which targets this proxy leaves alone for now, so that `sluice status` names
 * them: the command line asks no proxy for names, since anybody may have its port. It is told again
 * and again while there are any, because the daemon keeps it for the connection alone.
 */
import { openTargetCharsMax, openTargetsMax } from "../../shared/wire/admin-op.js";
import type { Limiter } from "./limiter.js";

interface OpenTargetPorts {
  readonly limiter: Pick<Limiter, "call">;
  /** A sentence for each. */
  open(): readonly string[];
  schedule(ms: number, run: () => void): void;
}

/** Many targets may fail at once. */
const soonMs = 200;
const againMs = 10_000;

export class OpenTargetReport {
  readonly #ports: OpenTargetPorts;
  #isSoon = false;
  /** Of what is told again: a newer report is in place of it. */
  #turn = 0;

  constructor(ports: OpenTargetPorts) {
    this.#ports = ports;
  }

  /** A target begins to be left alone, or answers again. */
  changed(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    this.#ports.schedule(soonMs, () => {
      this.#isSoon = false;
      this.#tell();
    });
  }

  #tell(): void {
    const targets = this.#ports
      .open()
      .slice(0, openTargetsMax)
      .map((text) => text.slice(0, openTargetCharsMax));
    // A daemon that doesn't take it names none.
    void this.#ports.limiter.call("targets.report", { targets });
    const turn = ++this.#turn;
    if (targets.length === 0) return;
    this.#ports.schedule(againMs, () => {
      if (turn === this.#turn) this.#tell();
    });
  }
}
