/**
 * Who reads the records on as they come (docs/usage-follow.md), and how far each has got, as it
 * said when it asked last: for the status and the metrics. A start forgets them; each asks again
 * within a second.
 */
import type { RecordPlace } from "../usage-query.js";
import type { StoreId } from "./store-ids.js";

/** Followers that are known at once. */
const followersMax = 16;

interface Follower {
  readonly name: string;
  /** All before it was handed on. */
  readonly place: RecordPlace;
  readonly askedAtMs: number;
  /** It has handed all on and ended: what comes later waits for its next start. */
  readonly finished: boolean;
}

export class Followers {
  /** The ids of the store, ascending; at least one. */
  readonly storeIds: readonly StoreId[];
  /** The name of the machine. */
  readonly host: string;
  readonly #byName = new Map<string, Follower>();

  constructor(storeIds: readonly StoreId[], host: string) {
    this.storeIds = storeIds;
    this.host = host;
  }

  /** One has asked; of too many, the one that asked longest ago is forgotten. */
  note(follower: Follower): void {
    this.#byName.delete(follower.name);
    this.#byName.set(follower.name, follower);
    const [oldest] = this.#byName.keys();
    if (this.#byName.size > followersMax) this.#byName.delete(oldest!);
  }

  /** By their names. */
  all(): readonly Follower[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
