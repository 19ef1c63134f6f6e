/** Bugs in what several hosts share, which the simulation of hosts finds. */
import type { Mutant } from "./mutant.js";

const units = "limiterd/shares/share-units.js";
const sync = "limiterd/shares/sync/share-sync.js";
const counters = "limiterd/shares/sync/share-counters.js";
const twin = "test/support/cluster/counter-twin.js";

export const hostsMutants: readonly Mutant[] = [
  {
    name: "rule of each host is shared",
    file: counters,
    find: "rule.definition.hostOnly === true ? null : sync.sharesOf(rule)",
    put: "sync.sharesOf(rule)",
    simulation: "hosts",
    often: false,
  },
  {
    name: "engine executes a question that is older than its last",
    file: twin,
    find: 'return seq > row.seq ? "synced" : "stale";',
    put: 'return "synced";',
    simulation: "hosts",
    often: false,
  },
  {
    name: "unit used after its window has ended",
    file: units,
    find: "return this.#clock.latestMs(monoMs) + 1 <= (this.#window + 1) * this.#periodMs;",
    put: "return true;",
    simulation: "hosts",
    often: false,
  },
  {
    name: "units end by the wall clock",
    file: sync,
    find: "this.turn.monoMs = this.#ports.monoMs();",
    put: "this.turn.monoMs = this.#ports.nowMs();",
    simulation: "hosts",
    often: false,
  },
  {
    name: "unit given back twice",
    file: units,
    find: "spent: used, spentBefore",
    put: "spent: Math.max(0, used - 1), spentBefore",
    simulation: "hosts",
    often: false,
  },
  {
    name: "unit that is held isn't told as used",
    file: units,
    find: "const used = addCount(this.#spent, this.#held);",
    put: "const used = this.#spent;",
    simulation: "hosts",
    often: false,
  },
  {
    name: "nothing restated to an engine that lost its data",
    file: sync,
    find: "share.restate(); this.need(share);",
    put: "",
    simulation: "hosts",
    often: false,
  },
  {
    name: "share forgotten before the engine knows what it used",
    file: units,
    find: "this.#frozen = addCount(this.#frozen, this.#spent);",
    put: "",
    simulation: "hosts",
    often: false,
  },
  {
    name: "withdrawn request gives its unit back in any window",
    file: units,
    find: "if (lsn > this.#windowLsn)",
    put: "if (true)",
    simulation: "hosts",
    often: false,
  },
  {
    name: "units of a higher cap admit under a lower one",
    file: "limiterd/shares/share.js",
    find: "return this.#capNow < this.#cap;",
    put: "return false;",
    simulation: "hosts",
    often: false,
  },
  {
    name: "slots of the last answer admit for ever",
    file: "limiterd/shares/share-slots.js",
    find: "return inFlight < this.#granted && monoMs < this.#endMonoMs;",
    put: "return inFlight <= this.#granted;",
    simulation: "hosts",
    often: false,
  },
];
