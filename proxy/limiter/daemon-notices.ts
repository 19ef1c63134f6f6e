/** What the daemon last reported of itself, in its welcome and in events. */
import type { DaemonEvent, Welcome } from "../../shared/wire/message-from-daemon.js";
import { DeniedJwts } from "./denied-jwts.js";

export interface DaemonNotices {
  /**
   * Whether any rule or budget exists, so that requests need a verdict. True until the welcome.
   */
  limited: boolean;
  /** How many rules are loaded and do nothing; null before the first welcome. */
  inertRules: number | null;
  /** The same of budgets. */
  inertBudgets: number | null;
  /**
   * Whether a managed key exists, so that callers need credentials; null before the first welcome.
   */
  keysExist: boolean | null;
  readonly deniedJwts: DeniedJwts;
  /** Why the daemon can't write its store; null when it can, and before the first welcome. */
  storeFailing: string | null;
  /** Why the daemon doesn't reach the engine that hosts share; null: it does, or shares none. */
  clusterFailing: string | null;
  /** When the last backup of its store was made; null: none that it, or its release, knows of. */
  lastBackupMs: number | null;
}

export function createNotices(): DaemonNotices {
  return {
    limited: true,
    inertRules: null,
    inertBudgets: null,
    keysExist: null,
    deniedJwts: new DeniedJwts(),
    storeFailing: null,
    clusterFailing: null,
    lastBackupMs: null,
  };
}

export function applyWelcome(
  notices: DaemonNotices,
  { limited, inertRules, inertBudgets, keysExist, deniedJwts }: Welcome,
): void {
  notices.deniedJwts.welcomed(deniedJwts);
  // If one of them differs, an event right behind the welcome says so.
  const noFailure = { storeFailing: null, clusterFailing: null, lastBackupMs: null };
  Object.assign(notices, { limited, inertRules, inertBudgets, keysExist, ...noFailure });
}

export function applyEvent(notices: DaemonNotices, event: DaemonEvent): void {
  switch (event.name) {
    case "limited":
      notices.limited = event.value;
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
