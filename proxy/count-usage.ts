/** What a response is charged with: the usage that it told, or a guess where it told none, or nonsense. */
import { estimateTokens } from "./estimate-tokens.js";
import type { Usage, UsageReading } from "./read-usage.js";

export interface Counted {
  readonly usage: Usage;
  readonly estimated: boolean;
  /** For the log: what was put right, left out or refused. */
  readonly note: string | null;
}

/** Usage as told; a guess when none was, and instead of nonsense: a provider's mistake must not lift the caller's limits. */
export function countUsage(reading: UsageReading, seen: { readonly promptBytes: number; readonly contentChars: number }): Counted {
  switch (reading.kind) {
    case "usage": return { usage: reading, estimated: false, note: reading.note };
    case "absent": return { usage: estimateTokens(seen), estimated: true, note: null };
    case "absurd": return { usage: estimateTokens(seen), estimated: true, note: `usage not charged: ${reading.reason}` };
  }
}
