/** A short hash of a text. It isn't collision-resistant against an attacker. */

/** FNV-1a over UTF-16 units, twice with different offsets: 16 hexadecimal digits. */
export function textDigest(text: string): string {
  const digest = new TextDigest();
  digest.add(text);
  return digest.toString();
}

/** The digest of a text in pieces, independent of where it is split. */
export class TextDigest {
  #first = 0x811c9dc5;
  #second = 0x01000193;

  add(text: string): void {
    let first = this.#first;
    let second = this.#second;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      first = Math.imul(first ^ code, 0x01000193);
      second = Math.imul(second ^ code, 0x5bd1e995);
    }
    this.#first = first;
    this.#second = second;
  }

  toString(): string {
    return hex(this.#first) + hex(this.#second);
  }
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, "0");
}
