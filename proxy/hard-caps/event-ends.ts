/**
 * Finds where the events of a stream end, so that they can be passed on one by one, in whatever
 * pieces the stream arrives. Lines that end in a CR alone aren't recognized: no provider sends
 * them.
 */
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class EventEnds {
  /** Whether the current line is empty so far, and follows another one. */
  #isLineEmpty = false;

  /** Where the event that goes on in `bytes` ends; their length if it goes on behind them. */
  next(bytes: Buffer): number {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === lineFeed) {
        if (this.#isLineEmpty) return at + 1;
        this.#isLineEmpty = true;
      } else if (byte !== carriageReturn) this.#isLineEmpty = false;
    }
    return bytes.length;
  }
}
