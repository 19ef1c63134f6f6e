/**
 * Checks that published messages arrive: each second, the connection publishes a message on a
 * channel of its own. Pure.
 */

/**
 * If this many messages in a row are missing, the connection subscribes again. One is sent a
 * second.
 */
const lateMax = 3;

export interface Echo {
  readonly channel: string;
  /** Whether the last message but one has arrived, or a later one. */
  readonly isHeard: boolean;
  /** Whether `lateMax` messages are missing, so the subscription counts as lost. */
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
