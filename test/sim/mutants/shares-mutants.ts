/** Bugs in how children share a cap and wait for it, which the simulation of shares finds. */
import type { Mutant } from "./mutant.js";

const cap = "limiterd/counters/shared-cap.js";
const queues = "limiterd/waiting/wait-queues.js";

export const sharesMutants: readonly Mutant[] = (
  [
    {
      name: "a new request overtakes those that wait for a shared cap",
      often: false,
      file: queues,
      find: "return Math.max(1, expectedMs(queue, positionAtEnd(queue, classOf()), nowMs) ?? 1);",
      put: "return 0;",
    },
    {
      name: "the next child isn't that with the least service",
      file: cap,
      find: "a.service - b.service || (a.name < b.name ? -1 : 1)",
      put: "(a.name < b.name ? -1 : 1)",
    },
    {
      name: "weights don't count for those that wait",
      often: false,
      file: cap,
      find: "sharer.service += amount / this.#shareOf(name).weight;",
      put: "sharer.service += amount;",
    },
    {
      name: "a floor isn't given back",
      file: cap,
      find: "return this.#waiting.has(sharer) || this.#isRecent(sharer.askedMs, nowMs);",
      put: "return true;",
      often: false,
    },
    {
      name: "others may use a floor that its owner wants",
      often: false,
      file: cap,
      find: "const claimed = wantsMore ? parts[i] : floor * cap;",
      put: "const claimed = wantsMore ? parts[i] : 0;",
    },
    {
      name: "a deleted share is kept",
      file: "limiterd/rules/rule-book.js",
      find: "shares: () => rule.definition.childShares ?? {},",
      put: "shares: ((kept) => () => kept)(rule.definition.childShares ?? {}),",
    },
    {
      name: "what a request used isn't added to its child's service",
      often: false,
      file: cap,
      find: "if (!this.#ports.countsRequests()) this.#charge(child, amount);",
      put: "",
    },
    {
      name: "a settle adds what the request was expected to cost",
      often: false,
      file: cap,
      find: "sharer.service += amount / this.#shareOf(name).weight;",
      put: "sharer.service += (sharer.meanCost ?? firstCost) / this.#shareOf(name).weight;",
    },
    {
      name: "withdrawn requests count as service",
      often: false,
      file: cap,
      find: "if (this.#ports.countsRequests()) this.#charge(child, requests);",
      put: "if (this.#ports.countsRequests()) this.#charge(child, Math.max(0, requests));",
    },
    {
      name: "a child's first requests are expected to cost 1 token",
      often: false,
      file: cap,
      find: "return sharer?.meanCost ?? this.#meanCost ?? firstCost;",
      put: "return sharer?.meanCost ?? firstCost;",
    },
    {
      name: "what runs reserves nothing of a cap on tokens",
      often: false,
      file: cap,
      find: "return sum + unknown * this.#costOf(undefined);",
      put: "return 0;",
    },
    {
      name: "what runs for a child that hasn't asked since the daemon's start reserves nothing",
      often: false,
      file: cap,
      find: "return sum + unknown * this.#costOf(undefined);",
      put: "return sum;",
    },
    {
      name: "a floor is kept beside what its owner uses of it",
      often: false,
      file: "limiterd/rules/judge-share.js",
      find: "keptClaims += Math.max(0, inUnits(claimed) - usedByClaimant);",
      put: "keptClaims += inUnits(claimed);",
    },
    {
      name: "an idle child gets credit",
      often: false,
      file: cap,
      find: "sharer.service += Math.max(0, this.#startService() - this.#serviceOf(sharer));",
      put: "",
    },
    {
      name: "a child that was alone has a debt",
      file: cap,
      find: "if (this.#waiting.size === 0) return this.#most;",
      put: "if (this.#waiting.size === 0) return 0;",
      often: false,
    },
    {
      name: "a slot that becomes free wakes none",
      file: "limiterd/rules/slots.js",
      find: "counter.rule.onFreed?.(counter);",
      put: "",
    },
    {
      name: "a floor that refuses one child stops all",
      file: queues,
      find: "else if (queue.order.refusesByClass === true) {",
      put: "else if (false) {",
      often: false,
    },
    {
      name: "changed shares wake none",
      file: queues,
      find: "for (const key of this.#queues.keys()) this.wake(key);",
      put: "",
      often: false,
    },
  ] as const
).map((mutant) => ({ often: true, ...mutant, simulation: "shares" as const }));
