/**
 * Which tool call of an answer a piece belongs to. Providers number the calls of a stream with an
 * index, but some give every call the index 0, or none, and only the ids differ.
 */
import type { CallPiece } from "../translation/chat-pieces.js";
import { UntranslatableAnswer } from "../translation/translation.js";

export class CallTracker {
  /** The ids of all calls, by index. */
  readonly #ids = new Map<number, string>();
  #lastIndex = -1;

  /** `isOpen`: the last call may still be continued. */
  indexOf({ index, id }: CallPiece, isOpen: boolean): number {
    if (index !== null) return index;
    const isNew = !isOpen || (id !== null && id !== this.#ids.get(this.#lastIndex));
    return isNew ? this.#ids.size : this.#lastIndex;
  }

  /** A call begins with a new index, or with a name and another id. */
  isNew({ name, id }: CallPiece, index: number): boolean {
    const known = this.#ids.get(index);
    return known === undefined || (name !== null && id !== null && id !== known);
  }

  begin(index: number, id: string): void {
    this.#ids.set(index, id);
    this.#lastIndex = index;
  }

  isLast(index: number): boolean {
    return index === this.#lastIndex;
  }
}

export function continuedCall(): UntranslatableAnswer {
  return new UntranslatableAnswer(
    "the provider's answer continues a tool call after other content has followed it",
  );
}
