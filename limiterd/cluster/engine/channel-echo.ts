/**
 * Checks that published messages arrive: each second, the connection publishes a numbered message
 * on its own channel. Pure.
 */

/** If this many messages in a row are missing, the connection subscribes again. */
const missingMax = 3;

export interface Echo {
  readonly channel: string;
  /** Whether the last message or the one before it has arrived. */
  readonly isHeard: boolean;
  /** Whether `missingMax` messages are missing, so the subscription counts as lost. */
  readonly isLost: boolean;
  /** The message to publish now. */
  next(): string;
  receive(channel: string, message: string): void;
  /** Starts again, because the connection subscribes again. */
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
      return lastSent - Math.max(lastHeard, begun) >= missingMax;
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
