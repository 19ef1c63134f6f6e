/**
 * The rules or budgets that the configuration declares, by id: lists show them for edited ones, and
 * `revert` restores them. Only an index is kept for each, because there may be 100,000.
 */
import type { DeclaredAt } from "../shared/domain/rule.js";

interface DeclaredLimit<Definition> {
  readonly definition: Definition;
  /** Where it is declared; null if unknown. */
  readonly at: DeclaredAt | null;
}

export class DeclaredLimits<Definition> {
  readonly #definitions: readonly Definition[];
  readonly #places: readonly DeclaredAt[];
  readonly #idOf: (definition: Definition) => string;
  readonly #byId = new Map<string, number>();

  /** `places`: where each definition is declared, in their order; empty if unknown. */
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

  /** Notes the id of the definition with this index. */
  note(id: string, index: number): void {
    this.#byId.set(id, index);
  }

  at(index: number): DeclaredAt | null {
    return this.#places[index] ?? null;
  }

  /** Null for one that isn't declared or isn't noted yet. */
  get(id: string): DeclaredLimit<Definition> | null {
    return this.#declared(this.#byId.get(id) ?? -1);
  }

  /** As `get`, but also works before all ids are noted, by searching all definitions. */
  find(id: string): DeclaredLimit<Definition> | null {
    const index = this.#byId.get(id);
    if (index === undefined && this.#byId.size === this.#definitions.length) return null;
    return this.#declared(
      index ?? this.#definitions.findIndex((definition) => this.#idOf(definition) === id),
    );
  }

  #declared(index: number): DeclaredLimit<Definition> | null {
    const definition = this.#definitions[index];
    return definition === undefined ? null : { definition, at: this.at(index) };
  }
}
