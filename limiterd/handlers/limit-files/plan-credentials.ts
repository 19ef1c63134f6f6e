/**
 * Plans the changes that make managed keys and denied JWTs equal to a limit file. Pure. A file has
 * only active keys, and none with a role in the admin API.
 */
import { type JwtDenial, jwtNameKey } from "../../../shared/domain/jwt-denial.js";
import {
  compareDenials,
  compareKeys,
  type FileKey,
} from "../../../shared/limit-files/credential-entry.js";
import type { KeyLock } from "../../../shared/limit-files/limits-plan.js";
import type { SlicedWork, Turns } from "../../../shared/long-lists.js";
import { formatSeconds } from "../../../shared/time.js";
import type { JwtDenials } from "../../keys/jwt-denials.js";
import { type KeyRing, keyStatus, type ManagedKey } from "../../keys/key-ring.js";

interface Options {
  /** Whether to remove what the file doesn't name. */
  readonly prune: boolean;
  readonly nowMs: number;
  readonly turns: Turns;
}

export interface KeyChange {
  readonly action: "add" | "change" | "remove" | "locked";
  /** The number of the existing key; null: it is added. */
  readonly number: number | null;
  readonly before: FileKey | null;
  readonly after: FileKey | null;
  readonly lock: KeyLock | null;
}

export interface DenialChange {
  readonly action: "add" | "change" | "remove";
  readonly before: JwtDenial | null;
  readonly after: JwtDenial | null;
}

interface PlannedChanges<C> {
  readonly changes: readonly C[];
  readonly unchanged: number;
  /** The number of keys or denied JWTs that the file doesn't name and that stay. */
  readonly kept: number;
}

/** Whether limit files have this key: it is active, and calls models. */
export function isInFiles(key: ManagedKey, nowMs: number): boolean {
  return key.role === null && key.deletedAtMs === null && keyStatus(key, nowMs) === "active";
}

/** `fileKeys`: the keys of the file, by hash. */
export function* planKeys(
  keys: KeyRing,
  fileKeys: ReadonlyMap<string, FileKey>,
  { prune, nowMs, turns }: Options,
): SlicedWork<PlannedChanges<KeyChange>> {
  const changes: KeyChange[] = [];
  for (const after of fileKeys.values()) {
    const existing = keys.find(after.hash);
    // An expired key needn't be added.
    if (existing === undefined && !isOver(after, nowMs))
      changes.push({ action: "add", number: null, before: null, after, lock: null });
    if (existing !== undefined) {
      const lock = lockOf(existing, after.hash);
      const number = existing.number;
      if (lock !== null) changes.push({ action: "locked", number, before: existing, after, lock });
      else if (!isSameKey(existing, after))
        changes.push({ action: "change", number, before: existing, after, lock: null });
    }
    if (turns.isOver()) yield;
  }
  const unchanged = fileKeys.size - changes.length;
  changes.sort((a, b) => compareKeys(a.after!, b.after!));
  let keptCount = 0;
  for (const before of keys.all()) {
    if (turns.isOver()) yield;
    if (!isInFiles(before, nowMs) || fileKeys.has(before.hash)) continue;
    if (prune)
      changes.push({ action: "remove", number: before.number, before, after: null, lock: null });
    else keptCount++;
  }
  return { changes, unchanged, kept: keptCount };
}

/** `fileDenials`: the denied JWTs of the file, by name (`jwtNameKey`). */
export function* planDenials(
  denials: JwtDenials,
  fileDenials: ReadonlyMap<string, JwtDenial>,
  { prune, nowMs, turns }: Options,
): SlicedWork<PlannedChanges<DenialChange>> {
  const changes: DenialChange[] = [];
  for (const [name, after] of fileDenials) {
    const existing = denials.get(name);
    if (existing === undefined && !isOver(after, nowMs))
      changes.push({ action: "add", before: null, after });
    if (existing !== undefined && expiryText(existing) !== expiryText(after))
      changes.push({ action: "change", before: existing, after });
    if (turns.isOver()) yield;
  }
  const unchanged = fileDenials.size - changes.length;
  changes.sort((a, b) => compareDenials(a.after!, b.after!));
  let keptCount = 0;
  for (const before of denials.all()) {
    if (turns.isOver()) yield;
    if (isOver(before, nowMs) || fileDenials.has(jwtNameKey(before))) continue;
    if (prune) changes.push({ action: "remove", before, after: null });
    else keptCount++;
  }
  return { changes, unchanged, kept: keptCount };
}

/** Why a file can't have this key; null if it can. */
function lockOf(key: ManagedKey, hash: string): KeyLock | null {
  if (key.deactivatedAtMs !== null) return "deactivated";
  if (key.hash !== hash) return "rotated";
  return key.role === null ? null : "role";
}

function isSameKey(a: FileKey, b: FileKey): boolean {
  return (
    a.name === b.name &&
    a.userPath === b.userPath &&
    expiryText(a) === expiryText(b) &&
    JSON.stringify([a.labels, a.models]) === JSON.stringify([b.labels, b.models])
  );
}

/** The expiry in whole seconds, as files have it. */
function expiryText({ expiresAtMs }: Pick<FileKey, "expiresAtMs">): string | null {
  return expiresAtMs === null ? null : formatSeconds(expiresAtMs);
}

function isOver({ expiresAtMs }: Pick<FileKey, "expiresAtMs">, nowMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= nowMs;
}
