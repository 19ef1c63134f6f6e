/**
 * The ids of an answer's calls, of which no two are the same. Some hosts number the calls of each
 * model anew, or give all of them one id; clients match results by it, and Anthropic refuses a
 * conversation in which it occurs twice. The turns of one answer share an `UniqueIds`.
 */
import { splitSignedId } from "./thought-signature.js";

export class UniqueIds {
  /** The number for the next occurrence of an id. */
  readonly #next = new Map<string, number>();

  /** The id itself at first; then with a number, which precedes any signature in it. */
  of(id: string): string {
    const [plain, signature] = splitSignedId(id);
    return this.idOf(plain) + signature;
  }

  /** As `of`, for an id without a signature. */
  idOf(plain: string): string {
    let number = this.#next.get(plain);
    if (number === undefined) {
      this.#next.set(plain, 2);
      return plain;
    }
    let own: string;
    do own = `${plain}_${number++}`;
    while (this.#next.has(own));
    this.#next.set(plain, number);
    this.#next.set(own, 2);
    return own;
  }
}
