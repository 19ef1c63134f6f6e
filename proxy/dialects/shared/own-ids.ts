/**
 * The ids of an answer's calls, of which no two are the same. Some hosts number the calls of each
 * model anew, or give all of them one id; clients match results by it, and Anthropic refuses a
 * conversation in which it occurs twice.
 */
import { signedMark } from "./thought-signature.js";

export class OwnIds {
  /** By id, the number for its next occurrence. */
  readonly #next = new Map<string, number>();

  /** The id itself when it comes first, and then with a number, before the signature it carries. */
  of(id: string): string {
    const at = id.indexOf(signedMark);
    const plain = at === -1 ? id : id.slice(0, at);
    let number = this.#next.get(plain);
    if (number === undefined) {
      this.#next.set(plain, 2);
      return id;
    }
    let own: string;
    do own = `${plain}_${number++}`;
    while (this.#next.has(own));
    this.#next.set(plain, number);
    this.#next.set(own, 2);
    return `${own}${id.slice(plain.length)}`;
  }
}
