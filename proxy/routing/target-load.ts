/**
 * The load and latency of targets, as seen by this proxy, for the strategies `least_busy` and
 * `latency`. Tracks only targets of virtual models with one of these.
 */
import type { VirtualModelConfig } from "../../shared/config/config.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";

interface Load {
  inFlight: number;
  /** Smoothed; null: unknown. */
  firstByteMs: number | null;
  /** When it was last measured. */
  measuredMs: number;
}

/** The weight of a new measurement. */
const newShare = 0.3;
/** An older measurement is ignored, and the target is tried again. */
const measurementMs = 60_000;

/** Null if no virtual model has one of these strategies. */
export function createTargetLoad(
  virtualModels: readonly VirtualModelConfig[],
  monoMs: () => number,
): TargetLoad | null {
  const balanced = virtualModels.filter(
    ({ strategy }) => strategy === "least_busy" || strategy === "latency",
  );
  return balanced.length === 0
    ? null
    : new TargetLoad(
        balanced.flatMap(({ targets }) => targets),
        monoMs,
      );
}

export class TargetLoad {
  readonly #byName = new Map<string, Load>();
  readonly #monoMs: () => number;

  constructor(targets: readonly Target[], monoMs: () => number) {
    this.#monoMs = monoMs;
    for (const target of targets)
      this.#byName.set(targetName(target), { inFlight: 0, firstByteMs: null, measuredMs: 0 });
  }

  #of(target: Target): Load | undefined {
    return this.#byName.get(targetName(target));
  }

  begin(target: Target): void {
    const load = this.#of(target);
    if (load !== undefined) load.inFlight++;
  }

  /** Notes the end of an attempt. `firstByteMs`: until its answer began; null if there was none. */
  end(target: Target, firstByteMs: number | null): void {
    const load = this.#of(target);
    if (load === undefined) return;
    load.inFlight--;
    if (firstByteMs === null) return;
    const old = this.#isFresh(load) ? load.firstByteMs : null;
    load.firstByteMs = old === null ? firstByteMs : old + (firstByteMs - old) * newShare;
    load.measuredMs = this.#monoMs();
  }

  #isFresh({ measuredMs }: Load): boolean {
    return this.#monoMs() - measuredMs < measurementMs;
  }

  /** Its running requests. */
  inFlight(target: Target): number {
    return this.#of(target)?.inFlight ?? 0;
  }

  /**
   * Latencies in classes 25% apart, so that equally fast targets take turns; 0 for an unknown one,
   * which is tried first.
   */
  latencyClass(target: Target): number {
    const load = this.#of(target);
    if (load === undefined || load.firstByteMs === null || !this.#isFresh(load)) return 0;
    return 1 + Math.round(Math.log(Math.max(load.firstByteMs, 1)) / Math.log(1.25));
  }
}
