/**
 * Remembers which user path made a stored object of a provider: table `objects`, [userPath,
 * expiresAtMs] by id and provider. Owners are read from the store when they are needed; verdicts
 * don't need them. Once a day, a walk removes expired entries, one slice per call.
 */

import { dayMs, dayOf, isMoment } from "../../shared/time.js";
import { type MadeObjects, type ObjectOwner, objectsMax } from "../../shared/wire/stored-object.js";
import type { Change, Store } from "../store/store.js";

/** Maximum number of providers that may have an object with the same id. */
const providersPerId = 64;
/** Entries per slice of a walk: about half a millisecond. */
const walkedPerSlice = 500;
/** Sorts after every key of a table. */
const afterAllKeys = "\u{10ffff}";

export class ObjectOwners {
  readonly #store: Store;
  readonly #max: number;
  /**
   * The number of objects at the last complete walk plus those added since; before the first, only
   * the added ones.
   */
  #count = 0;
  /** The day of the last walk. */
  #walkedDay = "";
  /** The unexpired entries that the walk has found. */
  #walked = 0;
  /** `#count` at the begin of the walk. */
  #countBefore = 0;
  /** The key at which the walk continues; null: it is complete. */
  #cursor: string | null = null;

  constructor(store: Store, max = objectsMax) {
    this.#store = store;
    this.#max = max;
  }

  /** The owners at each provider that has an object with this id. */
  of(id: string, nowMs: number): readonly ObjectOwner[] {
    // No id contains a space, and the next byte is `!`.
    const range = { from: `${id} `, before: `${id}!`, limit: providersPerId };
    return this.#store.range("objects", range).flatMap(({ key, value }) => {
      const userPath = ownerOf(value, nowMs);
      return userPath === null ? [] : [{ provider: String(key).slice(id.length + 1), userPath }];
    });
  }

  /**
   * The changes for new objects; null if there are too many already. An object that has an owner
   * keeps it.
   */
  addOwners({ userPath, objects, days }: MadeObjects, nowMs: number): readonly Change[] | null {
    const expiresAtMs = nowMs + days * dayMs;
    const changes: Change[] = [];
    for (const { provider, id } of objects) {
      const key = `${id} ${provider}`;
      const stored = this.#store.get("objects", key);
      if (stored !== undefined && ownerOf(stored, nowMs) !== null) continue;
      changes.push({ table: "objects", key, value: [userPath, expiresAtMs] });
    }
    if (changes.length > 0 && this.#count + changes.length > this.#max) return null;
    this.#count += changes.length;
    return changes;
  }

  /** The next removals of expired entries. */
  removeExpired(nowMs: number): readonly Change[] {
    const today = dayOf(nowMs);
    if (today !== this.#walkedDay) {
      this.#walkedDay = today;
      this.#cursor = "";
      this.#walked = 0;
      this.#countBefore = this.#count;
    }
    if (this.#cursor === null) return [];
    const from = this.#cursor;
    const entries = this.#store.range("objects", {
      from,
      before: afterAllKeys,
      limit: walkedPerSlice,
    });
    const gone = entries.filter(({ value }) => ownerOf(value, nowMs) === null);
    this.#walked += entries.length - gone.length;
    if (entries.length < walkedPerSlice) {
      this.#cursor = null;
      // Objects added meanwhile may be counted twice until the next walk.
      this.#count = this.#walked + (this.#count - this.#countBefore);
    } else this.#cursor = `${String(entries.at(-1)!.key)}\u0000`;
    return gone.map(({ key }) => ({ table: "objects", key, value: undefined }));
  }
}

/** The owner of an entry; null if it has expired or can't be read. */
function ownerOf([userPath, expiresAtMs]: readonly unknown[], nowMs: number): string | null {
  return typeof userPath === "string" && isMoment(expiresAtMs) && expiresAtMs > nowMs
    ? userPath
    : null;
}
