/**
 * Checks that published messages arrive: each second a message is published on a channel of this
 * connection's own. Pure.
 */

/**
 * How many messages in a row, one a second, may be missing before the connection subscribes again.
 */
const lateMax = 3;

export interface Echo {
  readonly channel: string;
  /** Whether the last message but one has arrived, or a later one. */
  readonly isHeard: boolean;
  /** Whether so many messages are missing that the subscription counts as lost. */
  readonly isLost: boolean;
  /** The message to publish now. */
  next(): string;
  heard(channel: string, message: string): void;
  /** Starts over: the connection subscribes again. */
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
    heard(on, message) {
      const number = on === channel ? Number(message) : 0;
      if (Number.isSafeInteger(number) && number > heard && number <= said) heard = number;
    },
    clear() {
      begun = said;
    },
  };
}
