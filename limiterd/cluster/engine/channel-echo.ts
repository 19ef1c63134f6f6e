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
  receive(channel: string, message: string): void;
  /** Starts over: the connection subscribes again. */
  clear(): void;
}

export function createEcho(channel: string): Echo {
  let lastSent = 0;
  let lastHeard = 0;
  let begun = 0;
  return {
    channel,
    get isHeard() {
      return lastHeard > begun && lastSent - lastHeard <= 1;
    },
    get isLost() {
      return lastSent - Math.max(lastHeard, begun) >= lateMax;
    },
    next: () => String(++lastSent),
    receive(on, message) {
      const number = on === channel ? Number(message) : 0;
      if (Number.isSafeInteger(number) && number > lastHeard && number <= lastSent)
        lastHeard = number;
    },
    clear() {
      begun = lastSent;
    },
  };
}
