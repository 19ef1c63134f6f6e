/**
 * This host's copy of the engine's definitions with their stamps: table `cluster`, key
 * `definition:` and field, [stamp, value or null]. The key `definitions` has the state up to which
 * the host has read: [order, clusterId, trimmed, sum, live]. Both are written in the commit of the
 * changes that they cause.
 */
import { isCount } from "../../../shared/checked.js";
import { type Change, type Store, throwMalformed } from "../../store/store.js";
import type { Definition } from "./definition.js";
import {
  type DefinitionsState,
  fieldOf,
  nameOfField,
  type StampedDefinition,
  stampSum,
} from "./definition-engine.js";

const prefix = "definition:";
/** The range of all keys with this prefix. */
const allDefinitions = { from: prefix, before: "definition;", limit: Number.POSITIVE_INFINITY };
const stateKey = "definitions";
const resetsKind = "rule_resets";

export class DefinitionCopy {
  readonly #store: Store;
  /** Changes that aren't committed yet; null: removed. */
  readonly #pending = new Map<string, StampedDefinition | null>();
  readonly #resets = new Map<string, number>();
  #state: DefinitionsState;

  /** Throws `StoreUnreadableError`. */
  constructor(store: Store) {
    this.#store = store;
    this.#state = readState(store);
    for (const definition of this.all()) this.#noteReset(definition);
  }

  /**
   * The engine's state up to which this host has read, with the sum and number of this copy's
   * definitions.
   */
  get state(): DefinitionsState {
    return this.#state;
  }

  /** The stamp of the last reset of a rule, or of all rules; 0: never. */
  resetOf(ruleId: string): number {
    return this.#resets.get(ruleId) ?? 0;
  }

  get(name: Pick<Definition, "kind" | "key">): StampedDefinition | null {
    const field = fieldOf(name);
    const pending = this.#pending.get(field);
    if (pending !== undefined) return pending;
    const value = this.#store.get("cluster", prefix + field);
    return value === undefined ? null : this.#fromStored(prefix + field, value);
  }

  /** The changes that remove the copy from the store. */
  removals(): readonly Change[] {
    if (this.#store.get("cluster", stateKey) === undefined) return [];
    return [stateKey, ...this.#store.keys("cluster", allDefinitions)].map((key) => ({
      table: "cluster",
      key,
      value: undefined,
    }));
  }

  /** All definitions, unordered. */
  *all(): Generator<StampedDefinition> {
    for (const { key, value } of this.#store.range("cluster", allDefinitions)) {
      const stamped = this.#fromStored(String(key), value);
      if (!this.#pending.has(fieldOf(stamped))) yield stamped;
    }
    for (const definition of this.#pending.values()) if (definition !== null) yield definition;
  }

  /**
   * Adds definitions, and removes the `forgotten` ones; `state` is the engine's state that this
   * host has read with them. Returns the store's changes, to be committed with the effects of the
   * definitions, and a function to call after the commit.
   */
  take(
    definitions: readonly StampedDefinition[],
    state: Pick<DefinitionsState, "order" | "clusterId" | "trimmed">,
    forgotten: readonly StampedDefinition[] = [],
  ): { readonly changes: readonly Change[]; committed(): void } {
    const updates = new Map<string, StampedDefinition | null>();
    let { sum, live } = this.#state;
    const addToSum = (stamped: StampedDefinition | null, sign: 1 | -1): void => {
      if (stamped === null || stamped.value === null) return;
      sum = stampSum(sum, stamped.stamp, sign);
      live += sign;
    };
    for (const definition of definitions) {
      addToSum(this.get(definition), -1);
      addToSum(definition, 1);
      updates.set(fieldOf(definition), definition);
      this.#pending.set(fieldOf(definition), definition);
      this.#noteReset(definition);
    }
    for (const definition of forgotten) {
      addToSum(this.get(definition), -1);
      updates.set(fieldOf(definition), null);
      this.#pending.set(fieldOf(definition), null);
    }
    this.#state = { ...state, sum, live };
    const { order, clusterId, trimmed } = state;
    const changes: Change[] = [
      { table: "cluster", key: stateKey, value: [order, clusterId, trimmed, sum, live] },
    ];
    for (const [field, update] of updates)
      changes.push({
        table: "cluster",
        key: prefix + field,
        value: update === null ? undefined : [update.stamp, update.value],
      });
    return {
      changes,
      committed: () => {
        for (const [field, update] of updates)
          if (this.#pending.get(field) === update) this.#pending.delete(field);
      },
    };
  }

  #noteReset({ kind, key, stamp }: StampedDefinition): void {
    if (kind === resetsKind) this.#resets.set(key, stamp);
  }

  #fromStored(key: string, [stamp, value]: readonly unknown[]): StampedDefinition {
    const name = nameOfField(key.slice(prefix.length));
    if (name === null || !isCount(stamp) || !(value === null || Array.isArray(value)))
      throwMalformed(this.#store, "cluster", key);
    return { ...name, stamp, value: value as readonly unknown[] | null };
  }
}

function readState(store: Store): DefinitionsState {
  const value = store.get("cluster", stateKey);
  if (value === undefined) return { order: 0, clusterId: null, trimmed: 0, sum: 0, live: 0 };
  const [order, clusterId, trimmed, sum, live] = value;
  if (!isCount(order) || !isCount(trimmed) || !isCount(sum) || !isCount(live))
    throwMalformed(store, "cluster", stateKey);
  return {
    order,
    clusterId: typeof clusterId === "string" ? clusterId : null,
    trimmed,
    sum,
    live,
  };
}
