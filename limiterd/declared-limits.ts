/**
 * What the configuration declares, by the ids of rules or budgets: for those that were edited by
 * hand since, in lists and when the file's is put back. Of 100,000 a place in two lists is kept.
 */
import type { DeclaredAt } from "../shared/domain/rule.js";

export interface Declared<Definition> {
  readonly definition: Definition;
  /** Null where it isn't known. */
  readonly at: DeclaredAt | null;
}

export class DeclaredLimits<Definition> {
  readonly #definitions: readonly Definition[];
  readonly #places: readonly DeclaredAt[];
  readonly #idOf: (definition: Definition) => string;
  readonly #byId = new Map<string, number>();

  /** `places`: of each definition, in their order; empty where they aren't known. */
  constructor(
    definitions: readonly Definition[],
    places: readonly DeclaredAt[],
    idOf: (definition: Definition) => string,
  ) {
    this.#definitions = definitions;
    this.#places = places;
    this.#idOf = idOf;
  }

  get all(): readonly Definition[] {
    return this.#definitions;
  }

  /** The one of this number has this id. */
  note(id: string, index: number): void {
    this.#byId.set(id, index);
  }

  at(index: number): DeclaredAt | null {
    return this.#places[index] ?? null;
  }

  /** Null for one that isn't declared, or wasn't noted yet. */
  get(id: string): Declared<Definition> | null {
    return this.#declared(this.#byId.get(id) ?? -1);
  }

  /** The same, noted or not: one that isn't is looked for among all, until all are. */
  find(id: string): Declared<Definition> | null {
    const known = this.#byId.get(id);
    if (known === undefined && this.#byId.size === this.#definitions.length) return null;
    return this.#declared(known ?? this.#definitions.findIndex((one) => this.#idOf(one) === id));
  }

  #declared(index: number): Declared<Definition> | null {
    const definition = this.#definitions[index];
    return definition === undefined ? null : { definition, at: this.at(index) };
  }
}
