/**
 * The journal as the store keeps it: the settles of each batch, until the windows that they moved
 * are written. When batches are written and removed is in `writer.ts`.
 */
import { isCount } from "../../shared/checked.js";
import type { Target } from "../../shared/domain/target-name.js";
import { isNormalUserPath } from "../../shared/domain/user-path.js";
import { type SettledPart, settledParts } from "../../shared/wire/message-to-daemon.js";

/** One settle as the journal keeps it, until the windows that it moved are written. */
export interface JournalEntry {
  readonly proxyId: string;
  readonly seq: number;
  readonly part: SettledPart;
  readonly userPath: string;
  /** The admission's. 0: the request was let through unasked and is counted with this entry. */
  readonly lsn: number;
  readonly requestAtMs: number;
  readonly target: Target | null;
  /** The attempt's, at this target; 0 as above. */
  readonly targetLsn: number;
  readonly targetAtMs: number;
  readonly endedAtMs: number;
  readonly tokens: number;
}

/** `journal`: the settles of one commit, by log sequence number. */
export function journalToStored(entries: readonly JournalEntry[]): readonly unknown[] {
  return entries.map(
    ({
      proxyId,
      seq,
      part,
      userPath,
      lsn,
      requestAtMs,
      target,
      targetLsn,
      targetAtMs,
      endedAtMs,
      tokens,
    }) => [
      proxyId,
      seq,
      part,
      userPath,
      lsn,
      requestAtMs,
      target?.provider ?? null,
      target?.model ?? null,
      targetLsn,
      targetAtMs,
      endedAtMs,
      tokens,
    ],
  );
}

export function journalFromStored(value: readonly unknown[]): JournalEntry[] | null {
  const entries: JournalEntry[] = [];
  for (const item of value) {
    if (!Array.isArray(item)) return null;
    const [
      proxyId,
      seq,
      rawPart,
      userPath,
      lsn,
      requestAtMs,
      provider,
      model,
      targetLsn,
      targetAtMs,
      endedAtMs,
      tokens,
    ] = item as unknown[];
    const part = settledParts.find((known) => known === rawPart);
    if (
      typeof proxyId !== "string" ||
      !isCount(seq) ||
      part === undefined ||
      typeof userPath !== "string" ||
      !isNormalUserPath(userPath)
    )
      return null;
    if (
      !isCount(lsn) ||
      !isCount(requestAtMs) ||
      !isCount(targetLsn) ||
      !isCount(targetAtMs) ||
      !isCount(endedAtMs) ||
      !isCount(tokens)
    )
      return null;
    const target =
      typeof provider === "string" && typeof model === "string" ? { provider, model } : null;
    if (target === null && (provider !== null || model !== null)) return null;
    entries.push({
      proxyId,
      seq,
      part,
      userPath,
      lsn,
      requestAtMs,
      target,
      targetLsn,
      targetAtMs,
      endedAtMs,
      tokens,
    });
  }
  return entries;
}
