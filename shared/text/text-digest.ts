/** A short name for a text: another text has another one, but for those who make it up. */

/** FNV-1a over UTF-16 units, twice from different starts: 16 hexadecimal digits. */
export function textDigest(text: string): string {
  const digest = new TextDigest();
  digest.add(text);
  return digest.toString();
}

/** Of a text that comes in pieces: the same, wherever it is cut. */
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
