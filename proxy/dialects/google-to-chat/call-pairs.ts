/**
 * Which call a result is for. In Gemini's own API both may have an id, and older models and clients
 * give none: then the name and the order count. Chat completions need an id for each.
 */

interface OpenCall {
  /** The client's; null: it gave none. */
  readonly givenId: string | null;
  readonly name: string;
  /** The one in the chat request. */
  readonly id: string;
}

export class OpenCalls {
  readonly #open: OpenCall[] = [];
  readonly #used = new Set<string>();
  readonly #answered = new Set<string>();

  /** The id of a call in the chat request: the client's, unless an earlier call has the same. */
  begin(givenId: string | null, name: string): string {
    const given = givenId === "" ? null : givenId;
    const id = given !== null && !this.#used.has(given) ? given : this.#freeId();
    this.#used.add(id);
    this.#open.push({ givenId: given, name, id });
    return id;
  }

  #freeId(): string {
    let id = `call_${this.#used.size}`;
    while (this.#used.has(id)) id += "_";
    return id;
  }

  /** The id of the call that a result is for; null: there is none, or it has its result already. */
  answeredBy(givenId: string | null, name: string): string | null {
    const byId = givenId === null ? -1 : this.#open.findIndex((call) => call.givenId === givenId);
    const at =
      byId !== -1
        ? byId
        : this.#open.findIndex(
            (call) => call.name === name && (call.givenId === null || (givenId ?? "") === ""),
          );
    if (at === -1) return null;
    if (givenId !== null) this.#answered.add(givenId);
    return this.#open.splice(at, 1)[0]!.id;
  }

  /** Whether the call of this id has its result already. */
  hasResult(givenId: string | null): boolean {
    return givenId !== null && this.#answered.has(givenId);
  }
}
