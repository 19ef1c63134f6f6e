/** A change of the store as the definition that brings it about, on every host. */
import type { Definition } from "../../cluster/definitions/definition.js";
import type { Change } from "../../store/store.js";

export function definitionOf(kind: Definition["kind"], { key, value }: Change): Definition {
  return { kind, key: String(key), value: value ?? null };
}
