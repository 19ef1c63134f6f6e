/**
 * The followers (docs/who-spent-what.md) with their places at their last request, for the status
 * and the metrics. They are only in memory; after a start, each asks again within a second.
 */
import type { RecordPlace } from "../usage-query.js";
import type { StoreId } from "./store-ids.js";

/** Maximum number of followers in memory. */
const followersMax = 16;

interface Follower {
  readonly name: string;
  /** The follower has passed on all records before it. */
  readonly place: RecordPlace;
  readonly askedAtMs: number;
  /** Whether it has passed on all records and ended; later records wait for its next start. */
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

  /**
   * Notes a follower's request. If there are too many followers, the one with the oldest request is
   * removed.
   */
  note(follower: Follower): void {
    this.#byName.delete(follower.name);
    this.#byName.set(follower.name, follower);
    const [oldest] = this.#byName.keys();
    if (this.#byName.size > followersMax) this.#byName.delete(oldest!);
  }

  /** All followers, by name. */
  all(): readonly Follower[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
