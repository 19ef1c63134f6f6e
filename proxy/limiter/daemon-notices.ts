/** What the daemon tells its proxies unasked, as it said last. */
import type { FromDaemon, Welcome } from "../../shared/wire/message.js";

export interface Notices {
  /**
   * Whether any rule exists, so that admissions must be asked for. True until it is known better.
   */
  limited: boolean;
  /** How many rules are loaded and do nothing; null before the daemon said anything. */
  inertRules: number | null;
  /** The same of budgets. */
  inertBudgets: number | null;
  /**
   * Whether a managed key exists, so that nobody calls without credentials; null before the daemon
   * said anything.
   */
  keysExist: boolean | null;
  /** Why the daemon can't write its store; null when it can, and before it said anything. */
  storeFailing: string | null;
}

export function createNotices(): Notices {
  return {
    limited: true,
    inertRules: null,
    inertBudgets: null,
    keysExist: null,
    storeFailing: null,
  };
}

export function applyWelcome(
  notices: Notices,
  { limited, inertRules, inertBudgets, keysExist }: Welcome,
): void {
  // If the store fails, that is said right behind the welcome.
  Object.assign(notices, { limited, inertRules, inertBudgets, keysExist, storeFailing: null });
}

export function applyEvent(
  notices: Notices,
  event: Extract<FromDaemon, { readonly kind: "event" }>,
): void {
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
    case "store_failing":
      notices.storeFailing = event.value;
  }
}
