/** Throttles the log lines and the /health reports about an engine that refuses shared data. */

interface RefusalPorts {
  /** A clock that is never set. */
  monoMs(): number;
  /** Called for each line of the log. */
  onRefused(reason: string): void;
  /** Called with the current reason for refusals; null once there is none. */
  onRefusing(reason: string | null): void;
}

interface Refusals {
  refused(reason: string): void;
  /** Call each second. */
  check(): void;
}

/** Interval of log lines about the same refusal, in ms. */
const refusedAgainMs = 60_000;
/**
 * How long a refusal counts as current, in ms: a refused operation is retried within about two
 * seconds, so an ongoing refusal is reported again by then.
 */
const refusingMs = 3000;
/** Maximum number of reasons logged within `refusedAgainMs`: an engine may produce any number. */
const reasonsMax = 20;

/** Logs each reason at most once a minute. */
export function refusals({ monoMs, onRefused, onRefusing }: RefusalPorts): Refusals {
  const saidMs = new Map<string, number>();
  const last: { reason: string | null; monoMs: number } = { reason: null, monoMs: 0 };
  return {
    refused(reason) {
      const now = monoMs();
      // If several reasons recur, the first one is shown.
      if (last.reason === null) {
        last.reason = reason;
        onRefusing(reason);
      }
      if (last.reason === reason) last.monoMs = now;
      for (const [lastReason, ms] of saidMs)
        if (now >= ms + refusedAgainMs) saidMs.delete(lastReason);
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
