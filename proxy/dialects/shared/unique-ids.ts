/**
 * Makes the ids of an answer's calls unique. Some hosts number the calls of each response from 0,
 * or give all of them one id; clients match results by id, and Anthropic refuses a conversation in
 * which an id occurs twice. All turns of an answer share one `UniqueIds`.
 */
import { splitSignedId } from "./thought-signature.js";

export class UniqueIds {
  /** The number for the next occurrence of an id. */
  readonly #next = new Map<string, number>();

  /**
   * Returns the id itself for its first occurrence, then the id with a number, before its signature
   * if it has one.
   */
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
    let unique: string;
    do unique = `${plain}_${number++}`;
    while (this.#next.has(unique));
    this.#next.set(plain, number);
    this.#next.set(unique, 2);
    return unique;
  }
}
