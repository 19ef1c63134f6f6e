/**
 * Reports to the other hosts when managed keys were last used here; lists read what the others
 * report.
 */
import { keyUsesPerTick } from "../../bounds.js";
import {
  EngineAwayError,
  type EngineConnection,
  EngineRefusedError,
} from "../../cluster/engine/engine.js";
import { publishKeyUses } from "../../cluster/remembered/shared-key-uses.js";
import type { DaemonState } from "../../state.js";

interface KeyUsePorts {
  readonly engine: EngineConnection;
  readonly clusterName: string;
  /** Runs `run` every `ms`; returns a function that stops it. */
  every(ms: number, run: () => void): () => void;
  /** Called when the engine refuses a report, which is retried; `reason` is for the log. */
  onRefused(reason: string): void;
  onBroken(error: Error): void;
}

const reportMs = 1000;

/** Returns a function that stops it. */
export function shareKeyUses(
  { keys }: Pick<DaemonState, "keys">,
  { engine, clusterName, every, onRefused, onBroken }: KeyUsePorts,
): () => void {
  let epoch: string | null = null;
  let isTelling = false;
  const report = async (): Promise<void> => {
    const { state } = engine;
    if (isTelling || state.kind !== "connected") return;
    // A different engine, or one that may have lost data, gets all uses.
    if (state.epoch !== epoch) keys.shareUses();
    epoch = state.epoch;
    const used = keys.takeUnsentUses(keyUsesPerTick);
    if (used.length === 0) return;
    isTelling = true;
    try {
      await publishKeyUses(engine, clusterName, used);
    } catch (error) {
      // Keys that were replaced meanwhile are reported as they are now.
      keys.keepUnsent(used);
      if (error instanceof EngineRefusedError) onRefused(error.message);
      else if (!(error instanceof EngineAwayError)) onBroken(error as Error);
    } finally {
      isTelling = false;
    }
  };
  return every(reportMs, () => void report());
}
