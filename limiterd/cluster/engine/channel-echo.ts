/**
 * Whether what is published in the engine arrives here: a word each second on a channel of this
 * connection's own. Pure.
 */

/** Words in a row that may be late, each by a second, before the connection listens anew. */
const lateMax = 3;

export interface Echo {
  readonly channel: string;
  /** Whether the last word but one has come, or a later one. */
  readonly isHeard: boolean;
  /** Whether so many haven't come that no more will. */
  readonly isLost: boolean;
  /** The word to publish now. */
  next(): string;
  heard(channel: string, word: string): void;
  /** It listens anew. */
  clear(): void;
}

export function createEcho(channel: string): Echo {
  let said = 0;
  let heard = 0;
  let begun = 0;
  return {
    channel,
    get isHeard() {
      return heard > begun && said - heard <= 1;
    },
    get isLost() {
      return said - Math.max(heard, begun) >= lateMax;
    },
    next: () => String(++said),
    heard(on, word) {
      const number = on === channel ? Number(word) : 0;
      if (Number.isSafeInteger(number) && number > heard && number <= said) heard = number;
    },
    clear() {
      begun = said;
    },
  };
}
