/** The daemon's last report of its own state, from its welcome and events. */

import { jwtNameKey, namesOfToken } from "../../shared/domain/jwt-denial.js";
import type { LoopTimes } from "../../shared/domain/loop-rule.js";
import type { DaemonEvent, JwtChange, Welcome } from "../../shared/wire/message-from-daemon.js";

export interface DaemonNotices {
  /**
   * Whether any rule or budget exists, so that requests need a verdict. True before the first
   * welcome.
   */
  hasLimits: boolean;
  /** The number of inert rules; null before the first welcome. */
  inertRules: number | null;
  /** The number of inert budgets; null before the first welcome. */
  inertBudgets: number | null;
  /**
   * Whether a managed key exists, so that callers need credentials; null before the first welcome.
   */
  keysExist: boolean | null;
  /** Whether imported keys exist, which may have any form; null before the first welcome. */
  importedKeysExist: boolean | null;
  /** Whether any rule or budget is a hard cap; false before the first welcome. */
  hasHardLimits: boolean;
  /** Whether each session has a budget; false before the first welcome. */
  hasSessionBudgets: boolean;
  /** When rules on loops act; null without such rules, and before the first welcome. */
  loopTimes: LoopTimes | null;
  readonly deniedJwts: DeniedJwts;
  /** Why the daemon can't write its store; null if it can, and before the first welcome. */
  storeFailing: string | null;
  /** Why the daemon can't reach the engine that hosts share; null if it can, or shares nothing. */
  clusterFailing: string | null;
  /** When the last backup of its store was made; null if none is known. */
  lastBackupMs: number | null;
}

export function createNotices(): DaemonNotices {
  return {
    hasLimits: true,
    inertRules: null,
    inertBudgets: null,
    keysExist: null,
    importedKeysExist: null,
    hasHardLimits: false,
    hasSessionBudgets: false,
    loopTimes: null,
    deniedJwts: new DeniedJwts(),
    storeFailing: null,
    clusterFailing: null,
    lastBackupMs: null,
  };
}

export function applyWelcome(
  notices: DaemonNotices,
  {
    limited,
    inertRules,
    inertBudgets,
    keysExist,
    deniedJwts,
    importedKeysExist = false,
    hardLimits = false,
    loopTimes,
    sessionBudgets = false,
  }: Welcome,
): void {
  notices.deniedJwts.onWelcome(deniedJwts);
  // An event after the welcome reports any of them that differs.
  const noFailure = { storeFailing: null, clusterFailing: null, lastBackupMs: null };
  Object.assign(notices, {
    hasLimits: limited,
    inertRules,
    inertBudgets,
    keysExist,
    importedKeysExist,
    hasHardLimits: hardLimits,
    hasSessionBudgets: sessionBudgets,
    loopTimes: loopTimes ?? null,
    ...noFailure,
  });
}

export function applyEvent(notices: DaemonNotices, event: DaemonEvent): void {
  switch (event.name) {
    case "limited":
      notices.hasLimits = event.value;
      return;
    case "inert_rules":
      notices.inertRules = event.value;
      return;
    case "inert_budgets":
      notices.inertBudgets = event.value;
      return;
    case "keys_exist":
      notices.keysExist = event.value;
      return;
    case "imported_keys_exist":
      notices.importedKeysExist = event.value;
      return;
    case "hard_limits":
      notices.hasHardLimits = event.value;
      return;
    case "session_budgets":
      notices.hasSessionBudgets = event.value;
      return;
    case "loop_times":
      notices.loopTimes = event.value;
      return;
    case "jwts_denied":
      notices.deniedJwts.apply(event.value);
      return;
    case "store_failing":
      notices.storeFailing = event.value;
      return;
    case "cluster_failing":
      notices.clusterFailing = event.value;
      return;
    case "last_backup":
      notices.lastBackupMs = event.value;
  }
}

interface KnownDenial {
  readonly expiresAtMs: number | null;
  /** The last connection that listed it. */
  readonly connection: number;
}

/**
 * The denied JWTs as last sent by the daemon: they stay in force while the daemon is away; the list
 * after each welcome updates them.
 */
export class DeniedJwts {
  readonly #byName = new Map<string, KnownDenial>();
  #connection = 0;

  /** Prepares for the list that follows, with this many entries. */
  onWelcome(count: number): void {
    this.#connection++;
    if (count === 0) this.#byName.clear();
  }

  apply({ denied, allowed, complete }: JwtChange): void {
    for (const denial of denied)
      this.#byName.set(jwtNameKey(denial), {
        expiresAtMs: denial.expiresAtMs,
        connection: this.#connection,
      });
    for (const name of allowed) this.#byName.delete(jwtNameKey(name));
    if (!complete) return;
    for (const [key, { connection }] of this.#byName)
      if (connection !== this.#connection) this.#byName.delete(key);
  }

  /** Whether a token with these claims is denied; nearly free if no JWT is denied. */
  has(claims: Readonly<Record<string, unknown>>, nowMs: number): boolean {
    if (this.#byName.size === 0) return false;
    return namesOfToken(claims).some((key) => {
      const existing = this.#byName.get(key);
      return (
        existing !== undefined && (existing.expiresAtMs === null || nowMs < existing.expiresAtMs)
      );
    });
  }
}
