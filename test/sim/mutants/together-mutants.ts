/** Bugs in how several limits of one path work together, which their simulation finds. */
import type { Mutant } from "./mutant.js";

export const togetherMutants: readonly Mutant[] = (
  [
    {
      name: "a small request passes an older large one that waits for another limit",
      file: "limiterd/waiting/wait-queues.js",
      find: "const isRefusedByClass = queue.refusedTurn === this.#turn && queue.order.refusesByClass === true;",
      put: "if (queue.refusedTurn === this.#turn) return 0; const isRefusedByClass = false;",
    },
    {
      name: "a new request overtakes those that wait for a budget",
      file: "limiterd/budgets/judge-budgets.js",
      find: "waiters?.isBehindAt(awaitedAccount(account)) === true",
      put: "false",
    },
    {
      name: "an admission that is asked for again leaves its hold in the store",
      file: "limiterd/handlers/interrupted-requests.js",
      find: "if (proxy.storedHolds.size === 0 || proxy.interrupted.has(id)) return;",
      put: "return;",
    },
  ] as const
).map((mutant) => ({ often: false, ...mutant, simulation: "together" as const }));
