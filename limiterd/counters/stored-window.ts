/**
 * Windows as the store keeps them: `windows`, [startMs, previousRequests, currentRequests,
 * previousTokens, currentTokens, lsn] by rule id and child.
 */
import { isCount } from "../../shared/checked.js";
import { isMoment } from "../../shared/time.js";

export interface StoredWindow {
  readonly startMs: number;
  readonly previousRequests: number;
  readonly currentRequests: number;
  readonly previousTokens: number;
  readonly currentTokens: number;
  /** The window includes every charge up to this log sequence number. */
  readonly lsn: number;
}

export function windowKey(ruleId: string, child: string): string {
  return `${ruleId}\n${child}`;
}

/** The rule id and the child of a window's key. */
export function splitWindowKey(key: string): { readonly ruleId: string; readonly child: string } {
  const at = key.lastIndexOf("\n");
  return { ruleId: key.slice(0, at), child: key.slice(at + 1) };
}

export function windowToStored(window: Omit<StoredWindow, "lsn">, lsn: number): readonly unknown[] {
  return [
    window.startMs,
    window.previousRequests,
    window.currentRequests,
    window.previousTokens,
    window.currentTokens,
    lsn,
  ];
}

export function windowFromStored(value: readonly unknown[]): StoredWindow | null {
  if (value.length !== 6 || !value.every((item) => isCount(item))) return null;
  const [startMs, previousRequests, currentRequests, previousTokens, currentTokens, lsn] =
    value as [number, number, number, number, number, number];
  if (!isMoment(startMs)) return null;
  return { startMs, previousRequests, currentRequests, previousTokens, currentTokens, lsn };
}
