/** What the log and /health say of an engine that refuses what hosts share. */

interface RefusalPorts {
  /** A clock that is never set. */
  monoMs(): number;
  /** For the log. */
  onRefused(reason: string): void;
  /** What it refuses at present; null: nothing. */
  onRefusing(reason: string | null): void;
}

interface Refusals {
  refused(reason: string): void;
  /** To be called each second. */
  check(): void;
}

/** Between two log lines about the same refusal of the engine. */
const refusedAgainMs = 60_000;
/** What was refused is tried again within a second or two: by then it is said again, or over. */
const refusingMs = 3000;
/** The number of reasons that are distinguished in that time: an engine may produce any number. */
const reasonsMax = 20;

/** In the log each reason once a minute at most. */
export function refusals({ monoMs, onRefused, onRefusing }: RefusalPorts): Refusals {
  const saidMs = new Map<string, number>();
  const last: { reason: string | null; monoMs: number } = { reason: null, monoMs: 0 };
  return {
    refused(reason) {
      const now = monoMs();
      // Of several reasons that come again and again the first one is shown.
      if (last.reason === null) {
        last.reason = reason;
        onRefusing(reason);
      }
      if (last.reason === reason) last.monoMs = now;
      for (const [said, ms] of saidMs) if (now >= ms + refusedAgainMs) saidMs.delete(said);
      if (saidMs.has(reason) || saidMs.size >= reasonsMax) return;
      saidMs.set(reason, now);
      onRefused(reason);
    },
    check() {
      if (last.reason === null || monoMs() < last.monoMs + refusingMs) return;
      last.reason = null;
      onRefusing(null);
    },
  };
}
