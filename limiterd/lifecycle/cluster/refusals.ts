/** What the log says of an engine that refuses what hosts share. */

interface RefusalPorts {
  /** A clock that is never set. */
  monoMs(): number;
  onRefused(reason: string): void;
}

/** Between two log lines about the same refusal of the engine. */
const refusedAgainMs = 60_000;
/** Reasons that are told apart in that time: an engine may make up any number. */
const reasonsMax = 20;

/** Each reason once a minute at most. */
export function refusals({ monoMs, onRefused }: RefusalPorts): (reason: string) => void {
  const saidMs = new Map<string, number>();
  return (reason) => {
    const now = monoMs();
    for (const [said, ms] of saidMs) if (now >= ms + refusedAgainMs) saidMs.delete(said);
    if (saidMs.has(reason) || saidMs.size >= reasonsMax) return;
    saidMs.set(reason, now);
    onRefused(reason);
  };
}
