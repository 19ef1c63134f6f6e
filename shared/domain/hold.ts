/**
 * Whether a rule or a budget is a hard cap (`docs/hard-caps.md`): running requests count with the
 * most that they may still use, and a stream ends at the cap. Pure.
 */
import { bad, type Checked, good, isAbsent, show } from "../checked.js";
import type { Exhaustible } from "./on-exhausted.js";

/** Absent in a definition: `soft`, so requests that are running when it is reached end normally. */
export interface Holdable {
  readonly hold?: "hard" | undefined;
}

/** The field of bodies and lists. */
export interface HoldField {
  readonly hold?: "hard";
}

/** Checks `hold`, which may be absent. */
export function parseHold(value: unknown, param: string): Checked<HoldField> {
  if (isAbsent(value) || value === "soft") return good({});
  return value === "hard"
    ? good({ hold: value })
    : bad(`${param} must be soft or hard, not ${show(value)}`, param);
}

/** As `parseHold`, together with `on_exhausted`: a limit that only warns can't be a hard cap. */
export function checkHold(
  value: unknown,
  { onExhausted }: Exhaustible,
  param: string,
): Checked<HoldField> {
  const hold = parseHold(value, param);
  return hold.ok && hold.value.hold === "hard" && onExhausted === "warn"
    ? bad(`${param} hard can't be combined with on_exhausted warn, which refuses nothing`, param)
    : hold;
}

export function holdField({ hold }: Holdable): HoldField {
  return hold === undefined ? {} : { hold };
}

/** In words, for lists. */
export function holdWords(value: unknown): string | null {
  return value === "hard" ? "hard cap" : null;
}
